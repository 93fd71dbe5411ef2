"""Whether outputs have the same pairs, in any order and format."""

import json
from hashlib import blake2b
from pathlib import Path
from typing import Any

Fingerprint = tuple[int, int]
CHOSEN = ("chosen", "chosen_response")
REJECTED = ("rejected", "rejected_response")


class OutputsDiffer(Exception):
    """Two contenders disagree."""

    def __init__(
        self, first: str, second: str, counts: tuple[int, int], what: str = "pairs"
    ) -> None:
        super().__init__(f"{first} and {second} disagree: {counts[0]} and {counts[1]} {what}")


def fingerprint(path: Path, *, scores: bool = True) -> Fingerprint:
    """The number of pairs and the sum of their digests, which needs no memory and no order."""
    count = total = 0
    with path.open("rb") as file:
        for line in file:
            digest = blake2b(json.dumps(essence(json.loads(line), scores=scores)).encode())
            total += int.from_bytes(digest.digest()[:16], "little")
            count += 1
    return count, total % 2**128


def essence(pair: dict[str, Any], *, scores: bool = True) -> list[Any]:
    """What all contenders write for a pair.

    >>> messages = [{"role": "user", "content": "Why?"}]
    >>> answers = {"chosen": "So.", "rejected_response": [{"content": "No."}]}
    >>> essence({"prompt": messages, **answers}, scores=False)
    ['Why?', 'So.', 'No.']
    """
    texts = [_text(pair["prompt"])]
    texts += [
        _text(next(pair[name] for name in names if name in pair)) for names in (CHOSEN, REJECTED)
    ]
    return [*texts, float(pair["chosen_score"]), float(pair["rejected_score"])] if scores else texts


def _text(value: Any) -> str:
    """A text as it is, or the text of the last message."""
    return str(value if isinstance(value, str) else value[-1]["content"])


def check_same_bytes(outputs: dict[str, Path]) -> int:
    """Raise unless all have the same bytes, in a file or in parts of a folder; return how many."""
    found = {name: _bytes_of(path) for name, path in outputs.items()}
    first, *others = found
    for other in others:
        if found[other] != found[first]:
            raise OutputsDiffer(first, other, (found[first][0], found[other][0]), "bytes")
    return found[first][0]


def _bytes_of(path: Path) -> tuple[int, bytes]:
    """The number and the digest of the bytes of a file, or of the parts in a folder."""
    digest, size = blake2b(), 0
    for part in sorted(path.glob("part-*")) if path.is_dir() else [path]:
        with part.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
                size += len(block)
    return size, digest.digest()


def check_equal(outputs: dict[str, Path], *, scores: bool = True) -> int:
    """Raise unless all outputs have the same pairs; return their number."""
    found = {name: fingerprint(path, scores=scores) for name, path in outputs.items()}
    first, *others = found
    for other in others:
        if found[other] != found[first]:
            raise OutputsDiffer(first, other, (found[first][0], found[other][0]))
    return found[first][0]
