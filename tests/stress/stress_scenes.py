"""All ways in which prefpairs writes: the initial files, the arguments and the outputs.

A new command or option that writes is added with one line in SCENES.
"""

import gzip
import json
from dataclasses import dataclass

from backports import zstd

_LONG = "so it goes on and on, word for word, to the end of the page. " * 90
"""A text of 5 KB, so that outputs do not fit into one buffer."""


@dataclass(frozen=True, slots=True)
class Scene:
    """A command in a folder of its own."""

    words: str
    inputs: tuple[str, ...]
    before: str | None = None
    """The arguments of an earlier run over more rows, whose result is already there."""
    family: str | None = None
    """The folder whose files appear together or not at all."""
    fed: str | None = None
    """The input that is read from a pipe."""
    redirected: str | None = None
    """The file to which standard output is redirected."""
    summary: str | None = None


def _rollouts(count: int) -> list[dict[str, object]]:
    return [
        {"prompt": f"Question {number // 4}?", "response": f"{number}: {_LONG}", "score": score}
        for number, score in ((number, number % 4 / 4) for number in range(count))
    ]


def _agents(count: int) -> list[dict[str, object]]:
    """Rollouts of NeMo Gym with a tool call and its result, which the native core reads."""
    call = {"type": "function_call", "name": "look", "arguments": "{}", "call_id": "c1"}
    result = {"type": "function_call_output", "call_id": "c1", "output": _LONG}
    tools = [{"type": "function", "name": "look", "parameters": {"type": "object"}}]
    return [
        {
            "responses_create_params": {
                "input": [{"role": "user", "content": f"Question {number // 4}?"}],
                "tools": tools,
            },
            "response": {"output": [call, result, {"role": "assistant", "content": str(number)}]},
            "reward": number % 4 / 4,
            "_ng_task_index": number // 4,
            "_ng_rollout_index": number % 4,
        }
        for number in range(count)
    ]


def _pairs(count: int) -> list[dict[str, object]]:
    return [
        {
            "prompt": f"Question {number}?",
            "chosen": f"{number}: {_LONG}",
            "rejected": f"no answer to {number}",
            "chosen_score": 1.0,
            "rejected_score": number % 3 / 4,
            "group": str(number // 2),
        }
        for number in range(count)
    ]


def _lines(rows: list[dict[str, object]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


_RECIPE = b"""[read]
inputs = ["rows.jsonl"]
temp_dir = "."

[pair]
min_gap = 0.1

[dedupe]

[split]
exact = true
val_fraction = 0.3

[write]
out_dir = "data"
summary = "summary.json"
"""


def data(times: int = 1) -> dict[str, bytes]:
    """The inputs of all scenes, or of this many times as many rows."""
    rows, pairs = _rollouts(160 * times), _pairs(80 * times)
    return {
        "rows.jsonl": _lines(rows),
        "agents.jsonl": _lines(_agents(160 * times)),
        "rows.jsonl.gz": gzip.compress(_lines(rows)),
        "rows.jsonl.zst": zstd.compress(_lines(rows)),
        "rows.json": json.dumps(rows).encode(),
        "bad.jsonl": _lines(rows) + b"{oops\n" * 3 * times,
        **dict.fromkeys(_IN_FOLDERS, _lines(rows[:20])),
        "pairs.jsonl": _lines(pairs),
        "train.jsonl": _lines(pairs[8:]),
        "val.jsonl": _lines(pairs[:8]),
        "questions.jsonl": _lines(_pairs(5)),
        "trained.jsonl": _lines([{key: row[key] for key in _TRAINED} for row in pairs]),
        "recipe.toml": _RECIPE,
        "file.toml": _RECIPE.replace(b'out_dir = "data"', b'output = "out.jsonl"').replace(
            b"[split]\nexact = true\nval_fraction = 0.3\n", b""
        ),
    }


_IN_FOLDERS = (
    "runs/a/r.jsonl",
    "runs/b/r.jsonl",
    "deep/a/b/r.jsonl",
    "of/a/r.jsonl",
    "of/b/r.jsonl",
)
_TRAINED = ("prompt", "chosen", "rejected")
_SPLIT = "split --exact --val-fraction 0.2 pairs.jsonl --out-dir data"
_CUSTOMIZER = "export --to customizer train.jsonl --temp-dir . --out-dir data"
_TRL = "export --to trl train.jsonl val.jsonl --temp-dir . --out-dir data"


def _file(words: str, *inputs: str, output: str = "out.jsonl", summary: str | None = None) -> Scene:
    """A command that writes one file and replaces the one it wrote before."""
    words = f"{words} -o {output}"
    return Scene(words, inputs, before=words, summary=summary)


SCENES = {
    "extract": _file("extract rows.jsonl", "rows.jsonl"),
    "pair": _file("pair rows.jsonl", "rows.jsonl"),
    "pair, nothing there yet": Scene("pair rows.jsonl -o out.jsonl", ("rows.jsonl",)),
    "pair to gzip": _file("pair rows.jsonl", "rows.jsonl", output="out.jsonl.gz"),
    "pair to zstd": _file("pair rows.jsonl", "rows.jsonl", output="out.jsonl.zst"),
    "pair with workers": _file("pair --workers 3 rows.jsonl", "rows.jsonl"),
    "pair of agents": _file("pair agents.jsonl", "agents.jsonl"),
    "pair of agents with workers": _file("pair --workers 3 agents.jsonl", "agents.jsonl"),
    "pair from gzip": _file("pair rows.jsonl.gz --temp-dir .", "rows.jsonl.gz"),
    "pair from zstd": _file("pair rows.jsonl.zst --temp-dir .", "rows.jsonl.zst"),
    "pair from an array": _file("pair rows.json --temp-dir .", "rows.json"),
    "pair from a pipe": Scene(
        "pair --temp-dir . -o out.jsonl", ("rows.jsonl",), before=None, fed="rows.jsonl"
    ),
    "extract from patterns and folders": _file(
        "extract runs/*/r.jsonl deep/**/r.jsonl of", *_IN_FOLDERS
    ),
    "pair as grouped": _file("pair --assume-grouped rows.jsonl", "rows.jsonl"),
    "pair to a dataset": Scene(
        "pair rows.jsonl --to trl --temp-dir . --out-dir data",
        ("rows.jsonl",),
        before="pair rows.jsonl --to trl --out-dir data",
        family="data",
    ),
    "dedupe": _file("dedupe pairs.jsonl", "pairs.jsonl"),
    "dedupe near, against": _file(
        "dedupe --near 0.95 --against questions.jsonl pairs.jsonl", "pairs.jsonl", "questions.jsonl"
    ),
    "report": _file("report rows.jsonl", "rows.jsonl", output="report.html"),
    "filter": _file("filter --min-gap 0.3 pairs.jsonl", "pairs.jsonl"),
    "sample": _file("sample --max-pairs 70 --order shuffle pairs.jsonl", "pairs.jsonl"),
    "split, a new folder": Scene(_SPLIT, ("pairs.jsonl",), family="data"),
    "split, over an old one": Scene(
        _SPLIT, ("pairs.jsonl",), before=f"{_SPLIT} --test-fraction 0.3", family="data"
    ),
    "export": _file("export --to trl pairs.jsonl --temp-dir .", "pairs.jsonl"),
    "export to Parquet": _file(
        "export --to trl pairs.jsonl --temp-dir .", "pairs.jsonl", output="out.parquet"
    ),
    "export, a new folder": Scene(_TRL, ("train.jsonl", "val.jsonl"), family="data"),
    "export, over an old one": Scene(
        _TRL, ("train.jsonl", "val.jsonl"), before=_TRL, family="data"
    ),
    "export, into folders of a folder": Scene(
        _CUSTOMIZER.replace("train.jsonl", "train.jsonl val.jsonl"),
        ("train.jsonl", "val.jsonl"),
        before=_CUSTOMIZER,
        family="data",
    ),
    "run, a folder": Scene(
        "run recipe.toml --depfile data.d",
        ("rows.jsonl", "recipe.toml"),
        before="run recipe.toml --depfile data.d --set split.test_fraction=0.3",
        family="data",
        summary="summary.json",
    ),
    "run, a new folder": Scene(
        "run recipe.toml", ("rows.jsonl", "recipe.toml"), family="data", summary="summary.json"
    ),
    "run, a file": Scene(
        "run file.toml",
        ("rows.jsonl", "file.toml"),
        before="run file.toml --set pair.min_gap=0.3",
        summary="summary.json",
    ),
    "run, keeping what is the same": Scene(
        "run recipe.toml --keep-if-same",
        ("rows.jsonl", "recipe.toml"),
        before="run recipe.toml --set split.test_fraction=0.3",
        family="data",
        summary="summary.json",
    ),
    "bad rows put aside": Scene(
        "pair bad.jsonl --on-error quarantine --quarantine bad.out -o out.jsonl",
        ("bad.jsonl",),
        before="pair bad.jsonl --on-error quarantine --quarantine bad.out -o out.jsonl",
    ),
    "a summary": _file(
        "filter --min-gap 0.3 pairs.jsonl --summary s.json", "pairs.jsonl", summary="s.json"
    ),
    "a summary of a verdict": Scene(
        "validate --to trl trained.jsonl --summary s.json",
        ("trained.jsonl",),
        before="validate --to trl trained.jsonl --summary s.json",
        summary="s.json",
    ),
    "pair to standard output": Scene("pair rows.jsonl", ("rows.jsonl",)),
    "standard output into a file": Scene(
        "pair rows.jsonl", ("rows.jsonl",), redirected="out.jsonl"
    ),
}
"""Every command that writes, with and without an old result."""
