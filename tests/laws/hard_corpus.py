"""Rollouts that are difficult to divide into lines, in files of several kinds."""

import gzip
import json
from pathlib import Path
from random import Random
from typing import Any

LONG = 2_000_000
"""Characters of an answer that fits in no buffer."""


def _rows(random: Random, count: int) -> list[dict[str, Any]]:
    prompts = [f"Question {number}?" for number in range(count // 6 + 1)]
    prompts += ["line\u2028separator", "next\u0085line", "zero \u0000 byte", "wide \U0001f600"]
    rows = []
    for number in range(count):
        prompt = random.choice(prompts) if random.random() < 0.8 else "the hot one"
        answer = f"answer {random.randrange(count)}" + random.choice(
            ["", "\u2028", "\u0000", "\r\n"]
        )
        score = random.choice([0.0, -0.0, 1, 0.5, 0.1 + 0.2, 1e-300, round(random.random(), 3)])
        row = {"prompt": prompt, "response": answer, "score": score, "index": number}
        if random.random() < 0.3:
            del row["index"]
        rows.append(row)
    return rows


def _lines(random: Random, rows: list[dict[str, Any]]) -> bytes:
    """Rows as lines: some end in CRLF, with blank lines between, the last unterminated."""
    made = b""
    for row in rows:
        ascii_only = random.random() < 0.5
        made += json.dumps(row, ensure_ascii=ascii_only).encode()
        made += random.choice([b"\n", b"\n", b"\r\n", b"\n\n", b"\n \t\n"])
    return made.rstrip()


def gym_rows(random: Random, count: int, answers: int = 0) -> list[dict[str, Any]]:
    """Rows as NeMo Gym writes them; with `answers`, there are only so many different ones."""
    return [
        {
            "_ng_task_index": number // 4,
            "_ng_rollout_index": number % 4,
            "responses_create_params": {"input": f"Task {number // 4}?"},
            "response": {
                "output": [
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [
                            {"type": "output_text", "text": f"done {number % (answers or count)}"}
                        ],
                    }
                ]
            },
            "reward": random.choice([0.0, 0.5, 1.0]),
        }
        for number in range(count)
    ]


def write_corpus(folder: Path, *, seed: int = 0, long: int = 100_000) -> list[str]:
    """Write valid rollouts, two of them this long; returns the names of the files."""
    random = Random(seed)  # noqa: S311 - rows for a test
    rows = _rows(random, 400)
    for place, size in ((30, long), (31, long), (200, long // 2)):
        rows[place]["response"] += "x" * size
    files = {
        "a.jsonl": _lines(random, rows[:150]),
        "b.jsonl": b"\xef\xbb\xbf" + _lines(random, rows[150:300]) + b"\n",
        "c.jsonl.gz": gzip.compress(_lines(random, rows[300:350]), mtime=0),
        "d.json": json.dumps(rows[350:]).encode(),
        "e.jsonl": _lines(random, gym_rows(random, 60)),
        "empty.jsonl": b"",
        "one.jsonl": _lines(random, rows[:1]),
    }
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [*files]


def write_bad_corpus(folder: Path) -> list[str]:
    """Write rollouts, some of them bad; returns the names of the files."""
    random = Random(1)  # noqa: S311 - rows for a test
    rows = _rows(random, 200)
    bad = [
        b'{"prompt": "\xff\xfe"\n',
        b"not json\n",
        b'{"prompt": "torn\n',
        b'{"score": "x"}\n',
        b"[]\n",
    ]
    lines = [json.dumps(row).encode() + b"\n" for row in rows]
    for number in range(40):
        lines.insert(random.randrange(len(lines)), bad[number % len(bad)])
    (folder / "bad.jsonl").write_bytes(b"".join(lines[:120]))
    (folder / "worse.jsonl").write_bytes(b"".join(lines[120:]).rstrip(b"\n"))
    return ["bad.jsonl", "worse.jsonl"]
