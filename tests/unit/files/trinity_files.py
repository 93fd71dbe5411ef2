"""Small files as Trinity-RFT writes them: frames (TRXP) and the databases that contain them.

Python's pickle makes the data here; the program never loads it.
"""

import json
import pickle
import sqlite3
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Tensor = tuple[str, list[int], bytes]

META = (
    "eid", "reward", "truncate_status", "info", "metrics", "prompt_length", "response_text",
    "prompt_text", "messages", "tools", "chosen_messages", "rejected_messages",
)  # fmt: skip

SCHEMA = """
CREATE TABLE {0} (id INTEGER NOT NULL, timestamp DATETIME DEFAULT CURRENT_TIMESTAMP,
 task_id VARCHAR(64), run_id INTEGER, msg_id VARCHAR(64), model_version INTEGER, reward FLOAT,
 consumed INTEGER, PRIMARY KEY (id));
CREATE TABLE {0}_blob (id INTEGER NOT NULL, experience_bytes BLOB NOT NULL, PRIMARY KEY (id));
"""


def item(**more: Any) -> dict[str, Any]:
    """The data of one experience in a frame."""
    eid = {"batch": 5, "task": 0, "run": 0, "step": 0, "suffix": "dbe565"}
    given = {"eid": eid, "prompt_length": 2, "info": {"model_version": 5}, "metrics": {}}
    texts = {"prompt_text": "Q: 2+2?\nA: ", "response_text": "4", "reward": 1.0}
    own: dict[str, Any] = {"custom_fields": [], "multi_modal_input_keys": []}
    return {**dict.fromkeys(META), **given, **texts, **own, **more}


def run(number: int, reward: Any, answer: str, **more: Any) -> dict[str, Any]:
    """One of several runs of a task."""
    eid = {"batch": 5, "task": 0, "run": number, "step": 0, "suffix": f"{number:06x}"}
    return item(eid=eid, reward=reward, response_text=answer, **more)


def whole(numbers: Sequence[int], dtype: str = "I32") -> Tensor:
    """A tensor of numbers."""
    code = {"I32": "i", "I64": "q", "BOOL": "?", "U8": "B", "F32": "f", "U16": "H"}[dtype]
    return dtype, [len(numbers)], struct.pack(f"<{len(numbers)}{code}", *numbers)


def tensors(given: Mapping[str, Tensor]) -> bytes:
    """Tensors in the safetensors format."""
    header: dict[str, Any] = {}
    place = 0
    for name, (dtype, shape, data) in given.items():
        header[name] = {
            "dtype": dtype, "shape": shape, "data_offsets": [place, place + len(data)]
        }  # fmt: skip
        place += len(data)
    return packed(header, b"".join(data for _, _, data in given.values()))


def packed(header: Any, data: bytes) -> bytes:
    """A safetensors header, valid or not, followed by data."""
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def frame(items: Sequence[Any], given: Mapping[str, Tensor] | None = None) -> bytes:
    """A frame with these experiences."""
    metadata = {"version": 1, "num_items": len(items), "items": list(items)}
    return around(pickle.dumps(metadata, protocol=5), tensors(given or {}))


def around(metadata: bytes, of_tensors: bytes, version: int = 1) -> bytes:
    """A frame's header with its parts."""
    sizes = struct.pack("<QQ", len(metadata), len(of_tensors))
    return b"TRXP" + bytes([version]) + sizes + metadata + of_tensors


def with_tokens(items: Sequence[Any], ids: Sequence[int] = (1, 2, 3, 4)) -> bytes:
    """A frame of experiences with two prompt tokens and two answer tokens each."""
    of_items: dict[str, Tensor] = {}
    for at in range(len(items)):
        of_items[f"{at}:logprobs"] = "F32", [2], struct.pack("<2f", -0.5, -0.25)
        of_items[f"{at}:tokens"] = whole(ids)
        of_items[f"{at}:routed_experts"] = "BF16", [3, 1, 2], bytes(12)
        of_items[f"{at}:action_mask"] = whole([1] * (len(ids) - 2), "BOOL")
    return frame(items, of_items)


def database(path: Path, items: Sequence[Any], table: str = "pipeline_input") -> None:
    """A database as release 0.6.0 writes it, with query columns and frames."""
    with sqlite3.connect(path) as connection:
        connection.executescript(SCHEMA.format(table))
        for number, given in enumerate(items, 1):
            eid, version = given["eid"], given["info"].get("model_version")
            told = (str(eid["task"]), eid["run"], eid["suffix"], version, given["reward"])
            connection.execute(
                f"INSERT INTO {table} VALUES (?, '2026-11-18', ?, ?, ?, ?, ?, 0)",  # noqa: S608
                (number, *told),
            )
            connection.execute(
                f"INSERT INTO {table}_blob VALUES (?, ?)",  # noqa: S608
                (number, with_tokens([given])),
            )
    connection.close()
