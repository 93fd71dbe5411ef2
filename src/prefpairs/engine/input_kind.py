"""Whether rows are pairs or rollouts, for commands that accept both; a run has one kind.

Each row is classified by itself, so their order does not matter.
"""

from prefpairs.errors import NotJson, TwoReadings
from prefpairs.model.json_codec import decode
from prefpairs.model.pair import holds_pair
from prefpairs.sources import GENERIC
from prefpairs.sources.detect import source_of

PAIRS = "pairs"


def kind_of(record: bytes) -> str | None:
    """`pairs`, or the source of a rollout; None if a row is neither, such as half a pair.

    Rows of rollouts that already contain a pair count as rollouts, like their neighbours.

    >>> kind_of(b'{"chosen": "a", "rejected": "b"}'), kind_of(b'{"prompt": "Q", "response": "A"}')
    ('pairs', 'generic')
    >>> kind_of(b'{"prompt": "Q", "chosen": "A"}'), kind_of(b'"text"')
    (None, None)
    """
    if (source := source_of(record)) != GENERIC:
        return source
    try:
        row = decode(record)
    except NotJson:
        return None
    if not isinstance(row, dict):
        return None
    if holds_pair(row):
        return PAIRS
    return None if "chosen" in row else GENERIC


def check_kind(record: bytes, expected: str | None) -> None:
    """Raise if a row is not of the expected kind."""
    kind = None if expected is None else kind_of(record)
    if kind is None or (kind == PAIRS) == (expected == PAIRS):
        return
    problem = "some rows are pairs, and others are rollouts: which of them are meant?"
    source = expected if kind == PAIRS else kind
    raise TwoReadings(problem, [("--from", PAIRS), ("--from", str(source))])
