"""Text that is safe to print: nothing in it can control the terminal."""

import re
import sys
from contextlib import suppress

from prefpairs.files.standard_output import STEERING

_CONTROL = re.compile(f"[\x00-\x1f{STEERING}\ud800-\udfff]")


def write_stderr(text: str) -> None:
    """Write to standard error; if that fails, the run continues."""
    with suppress(OSError, AttributeError, ValueError):
        sys.stderr.write(text)
        sys.stderr.flush()


def printable(text: str) -> str:
    r"""The text with control characters, and bytes of names that are not UTF-8, as escapes.

    >>> printable("red \x1b[31m"), printable("caf\udce9.jsonl")
    ('red \\x1b[31m', 'caf\\xe9.jsonl')
    """
    with suppress(UnicodeError):  # Python may read names as ASCII although they are UTF-8
        text = text.encode("utf-8", "surrogateescape").decode()
    return _CONTROL.sub(_written_out, text)


def _written_out(found: re.Match[str]) -> str:
    byte = ord(found[0]) - 0xDC00
    if 0x80 <= byte <= 0xFF:  # a byte that Python could not decode
        return f"\\x{byte:02x}"
    return found[0].encode("unicode_escape").decode()


def plural(count: int, noun: str) -> str:
    """A count with its noun in the singular or plural.

    >>> plural(1, "pair"), plural(2000, "pair")
    ('1 pair', '2,000 pairs')
    """
    return f"{count:,} {noun}" + ("" if count == 1 else "s")
