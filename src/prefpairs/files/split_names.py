"""The side of a split that the name of a file speaks of."""

import os
import re

_SIDES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "validation": "val",
    "valid": "val",
    "dev": "val",
    "eval": "val",
    "test": "test",
}


def side_named(path: str) -> str | None:
    """The side in the name of a file or of its folder, if there is one.

    >>> side_named("data/val.jsonl"), side_named("validation/part_1.jsonl"), side_named("a.jsonl")
    ('val', 'val', None)
    """
    folder, name = os.path.split(path.lower())
    words = [*re.split(r"[^a-z]+", name), os.path.basename(folder)]
    return next((_SIDES[word] for word in words if word in _SIDES), None)


def side_of(path: str) -> str:
    """The same; a file whose name speaks of none is for training."""
    return side_named(path) or "train"
