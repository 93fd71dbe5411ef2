"""The card of a dataset: a README.md whose head tells `load_dataset` the type of every column.

Without it types are guessed from the first rows of the first file, and a field that only another
side has breaks the load.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from prefpairs.targets.protocol import Dataset
from prefpairs.targets.shape import column_of

_SCALARS = {
    "string": "string",
    "date": "string",
    "float": "float64",
    "int": "int64",
    "bool": "bool",
}


def card(dataset: Dataset, columns: Mapping[str, Any], splits: Mapping[str, str]) -> str:
    """The card. Chats of nothing but roles and texts have that type, all others are JSON."""
    shape = dataset.shape
    present = [name for name in columns if any(column_of(path) == name for path in shape)]
    features = "".join("".join(_feature(name, shape)) for name in present)
    files = "".join(
        f"  - split: {splits[side]}\n    path: {file}\n" for side, file in dataset.files.items()
    )
    counts = "".join(f"- {splits[side]}: {dataset.rows[side]:,} rows\n" for side in dataset.files)
    return (
        "---\n"
        f"configs:\n- config_name: default\n  data_files:\n{files}"
        f"{_info(features)}---\n\n"
        f"# Preferences\n\nWritten by prefpairs.\n\n{counts}"
    )


def _info(features: str) -> str:
    return f"dataset_info:\n  features:\n{features}" if features else ""


def _feature(name: str, shape: frozenset[str]) -> Iterator[str]:
    """The lines of a column. Needs datasets 4.7 or newer only where it says json."""
    yield f"  - name: {name}\n"
    paths = {path for path in shape if column_of(path) == name}
    if f"{name}: list" not in paths:
        types = sorted(path.rpartition(": ")[2] for path in paths)
        yield f"    dtype: {_SCALARS[types[0]]}\n"
        return
    plain = {f"{name}[].role: string", f"{name}[].content: string", f"{name}[].content: date"}
    if paths - {f"{name}: list", f"{name}[]: object"} <= plain:
        yield "    list:\n"
        yield "    - name: role\n      dtype: string\n"
        yield "    - name: content\n      dtype: string\n"
    else:
        yield "    list: json\n"
