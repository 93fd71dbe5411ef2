"""The card of a dataset: a README.md whose header gives `load_dataset` the type of every column.

Without it, types are inferred from the first rows of the first file, and a field that only another
side has breaks the load.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from prefpairs.dataset.column_types import column_of
from prefpairs.targets.base import Dataset

SIGNED = "Written by prefpairs."
"""What distinguishes our cards from hand-written ones."""

_SCALARS = {
    "string": "string",
    "date": "string",
    "float": "float64",
    "int": "int64",
    "bool": "bool",
}


_INTS = {": list", "[]: int"}
_DATES = "[].content: date"
_PLAIN = {": list", "[]: object", "[].role: string", "[].content: string", _DATES}
"""The paths of a chat that has only roles and texts."""


def card(dataset: Dataset, columns: Mapping[str, Any], splits: Mapping[str, str]) -> str:
    """The card. Chats of only roles and texts are typed; all other chats are JSON."""
    kinds = kinds_of(dataset.shape, columns)
    features = "".join(_feature(name, kind) for name, kind in kinds.items())
    files = "".join(
        f"  - split: {splits[side]}\n    path: {file}\n" for side, file in dataset.files.items()
    )
    counts = "".join(f"- {splits[side]}: {dataset.rows[side]:,} rows\n" for side in dataset.files)
    return (
        "---\n"
        f"configs:\n- config_name: default\n  data_files:\n{files}"
        f"{_info(features)}---\n\n"
        f"# Preferences\n\n{SIGNED}\n\n{counts}"
    )


def _info(features: str) -> str:
    return f"dataset_info:\n  features:\n{features}" if features else ""


def kinds_of(shape: Collection[str], columns: Iterable[str]) -> dict[str, str]:
    """The kind of each column that any row has: a scalar, a chat of roles and texts, or JSON.

    >>> kinds_of({"a: list", "a[]: object", "a[].role: string", "b: float"}, ["a", "b", "c"])
    {'a': 'chat', 'b': 'float64'}
    """
    paths: dict[str, set[str]] = {}
    for path in shape:
        column = column_of(path)
        paths.setdefault(column, set()).add(path.removeprefix(column))
    return {name: _kind(paths[name]) for name in columns if name in paths}


def _kind(paths: set[str]) -> str:
    if ": object" in paths:
        return "object"
    if ": list" not in paths:
        return _SCALARS[min(paths).removeprefix(": ")]
    if paths == _INTS:
        return "ints"
    dates = _DATES in paths and "[].content: string" not in paths
    # As JSON, dates stay texts even if a column has nothing else.
    return "chat" if paths <= _PLAIN and not dates else "json"


def _feature(name: str, kind: str) -> str:
    """The lines of a column. Only json needs datasets 4.7 or newer."""
    types = {
        "json": "    list: json\n",
        "ints": "    list: int32\n",
        "chat": "    list:\n    - name: role\n      dtype: string\n"
        "    - name: content\n      dtype: string\n",
    }
    return f"  - name: {name}\n" + types.get(kind, f"    dtype: {kind}\n")
