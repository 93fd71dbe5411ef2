"""Loads a file or a folder with the datasets library and reads every row."""

import argparse
import hashlib
import importlib
import json
import os
from collections import Counter
from typing import Any

import consumer_kit
from consumer_kit import Outcome

SIDES = ("prompt", "chosen", "rejected")


def digest(row: Any) -> bytes:
    """A short name of a row's value."""
    return hashlib.sha256(json.dumps(row, sort_keys=True, default=repr).encode()).digest()


def without_nulls(value: Any) -> Any:
    """The value without the keys that hold null, which some versions add."""
    if isinstance(value, dict):
        return {key: without_nulls(each) for key, each in value.items() if each is not None}
    if isinstance(value, list):
        return [without_nulls(each) for each in value]
    return value


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Loads all splits, counts their rows, and counts the rows that loading changed."""
    datasets = importlib.import_module("datasets")
    path = arguments.path
    if os.path.isdir(path):
        splits = datasets.load_dataset(path)
    else:
        builder = "parquet" if path.endswith(".parquet") else "json"
        splits = datasets.load_dataset(builder, data_files=path)
    loaded: Counter[bytes] = Counter()
    bare: Counter[bytes] = Counter()
    facts: dict[str, dict[str, Any]] = {}
    for name, rows in splits.items():
        read = 0
        for row in rows:
            read += 1
            loaded[digest(row)] += 1
            bare[digest(without_nulls(row))] += 1
            if set(SIDES) <= row.keys():
                outcome.show(*(consumer_kit.text_of(row[key]) for key in SIDES))
        facts[str(name)] = {"rows": read, "features": str(rows.features)}
    outcome.facts["splits"] = facts
    outcome.rows_out = sum(split["rows"] for split in facts.values())
    if outcome.rows_in is not None:
        for each in consumer_kit.data_files(path):
            for row in consumer_kit.read_lines(each):
                loaded[digest(row)] -= 1
                bare[digest(without_nulls(row))] -= 1
        outcome.facts["rows_changed"] = (-loaded).total()
        outcome.facts["rows_changed_beyond_nulls"] = (-bare).total()


if __name__ == "__main__":
    consumer_kit.run("hf_datasets", "datasets", work)
