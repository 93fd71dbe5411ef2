"""How files begin: the first bytes by which a format is recognised, and not by its name."""

from prefpairs.errors import NotJson
from prefpairs.model.json_codec import decode

HEAD = 1 << 16
"""How much of a stream is looked at to recognise its format."""

BOM = b"\xef\xbb\xbf"
GZIP, ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = tuple(bytes((first, 0x2A, 0x4D, 0x18)) for first in range(0x50, 0x60))
"""Zstd frames without data, as pzstd writes at the beginning."""

COMPRESSED = (GZIP, ZSTD, *_SKIPPABLE)
ZIP = (b"PK\x03\x04", b"PK\x05\x06")
"""How an archive begins, and how an empty one does."""

PARQUET, TRXP, SQLITE = b"PAR1", b"TRXP", b"SQLite format 3\0"
PICKLES = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
"""How pickles of protocols 2 to 5 begin."""

CONTAINERS = (*COMPRESSED, PARQUET, TRXP, SQLITE, *ZIP, *PICKLES)
"""How files begin that do not consist of lines."""


def is_document(begin: bytes) -> bool:
    """Whether a file begins as an object over several lines does: with a brace on its own."""
    first, newline, _ = begin.lstrip().partition(b"\n")
    return bool(newline) and first.rstrip() == b"{"


def is_array(begin: bytes) -> bool:
    """Whether a file is one array, and not lines of which the first is an array."""
    if not begin.lstrip().startswith(b"["):
        return False
    first, _, rest = begin.lstrip().partition(b"\n")
    if not rest.strip():
        return True
    try:
        decode(first)
    except NotJson:
        return True
    return False
