"""The token of a service: from the environment, a file or what `hf auth login` stored.

A token never appears in errors, records or dry runs: only the place that it comes from does.
"""

import os

from prefpairs.errors import FileError, UsageError
from prefpairs.files.file_stamps import read_small_input

_HUGGINGFACE = "huggingface"
_MOST = 10_000


class Token:
    """A secret, and where it comes from. It can be read again, because tokens expire."""

    def __init__(self, place: str | None, written: str = "") -> None:
        self.place = place
        """As in --token-from; None if it is written in a configuration, or if there is none."""
        self._written = written

    def __repr__(self) -> str:
        """Where it comes from: tracebacks show this."""
        return f"Token({self.origin!r})"

    @property
    def origin(self) -> str:
        """Where it comes from, in words; empty if there is none."""
        return self.place or ("the configuration" if self._written else "")

    def read(self) -> str:
        """The token; empty if there is none."""
        if self.place is None:
            return _checked(self._written, "hf_token in the configuration")
        if self.place.startswith("env:"):
            name = self.place.removeprefix("env:")
            value = os.environ.get(name, "")
            if not value.strip():
                problem = f"--token-from {self.place}: the variable {name} is not set"
                raise UsageError(problem, f"export {name}=...")
            return _checked(value, f"the variable {name}")
        path = _huggingface_path() if self.place == _HUGGINGFACE else self.place
        try:
            data = read_small_input(path, _MOST)
        except FileError as error:
            if error.missing and self.place == _HUGGINGFACE:
                problem = f"--token-from huggingface: there is no {path}"
                raise UsageError(problem, "`hf auth login` stores a token") from None
            raise
        value = _checked(data.decode("utf-8", "replace"), path)
        if not value:
            raise UsageError(f"--token-from {self.place}: {path} is empty")
        return value


def _huggingface_path() -> str:
    """Where huggingface_hub keeps its token."""
    cache = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{cache}/huggingface"
    return os.path.expanduser(os.environ.get("HF_TOKEN_PATH") or f"{home}/token")


def _checked(value: str, where: str) -> str:
    """The token without white space around it; raises if a header cannot hold it."""
    token = value.strip()
    if not token.isascii() or any(char <= " " or char == "\x7f" for char in token):
        raise UsageError(f"{where} is no token: it has other characters in it than a token has")
    return token
