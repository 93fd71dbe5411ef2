"""The card of a dataset."""

from target_rows import DEEP, PLAIN, rows_of

from prefpairs.dataset.card import card
from prefpairs.dataset.column_types import shape_of
from prefpairs.targets.base import Dataset
from prefpairs.targets.export_options import ExportOptions

COLUMNS = ("prompt", "chosen", "tools", "label", "score_chosen", "rank")


def _dataset(shape: frozenset[str]) -> Dataset:
    files, rows = {"train": "train.jsonl", "val": "val.jsonl"}, {"train": 1200, "val": 3}
    return Dataset(files, rows, shape, ExportOptions())


def test_card_of_plain_chats() -> None:
    """Files and types in YAML; columns that no row has are omitted."""
    shape = shape_of(rows_of("trl", PLAIN)[0])
    splits = {"train": "train", "val": "validation"}
    assert card(_dataset(shape), dict.fromkeys(COLUMNS), splits) == (
        "---\n"
        "configs:\n"
        "- config_name: default\n"
        "  data_files:\n"
        "  - split: train\n"
        "    path: train.jsonl\n"
        "  - split: validation\n"
        "    path: val.jsonl\n"
        "dataset_info:\n"
        "  features:\n"
        "  - name: prompt\n"
        "    list:\n"
        "    - name: role\n"
        "      dtype: string\n"
        "    - name: content\n"
        "      dtype: string\n"
        "  - name: chosen\n"
        "    list:\n"
        "    - name: role\n"
        "      dtype: string\n"
        "    - name: content\n"
        "      dtype: string\n"
        "  - name: score_chosen\n"
        "    dtype: float64\n"
        "---\n\n"
        "# Preferences\n\nWritten by prefpairs.\n\n"
        "- train: 1,200 rows\n"
        "- validation: 3 rows\n"
    )


def test_types_of_columns() -> None:
    """Chats with calls are JSON; texts, numbers and labels have their own types."""
    shape = shape_of(rows_of("trl", DEEP)[0] | {"label": True, "chosen": "A", "rank": 1})
    text = card(_dataset(shape), dict.fromkeys(COLUMNS), {"train": "train", "val": "val"})
    assert text.partition("features:\n")[2].partition("---")[0] == (
        "  - name: prompt\n"
        "    list: json\n"
        "  - name: chosen\n"
        "    dtype: string\n"
        "  - name: tools\n"
        "    dtype: string\n"
        "  - name: label\n"
        "    dtype: bool\n"
        "  - name: score_chosen\n"
        "    dtype: float64\n"
        "  - name: rank\n"
        "    dtype: int64\n"
    )
