"""Hints for a model that recovers from an error: from a table, or from a function of the user."""

import os
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from prefpairs.errors import UsageError
from prefpairs.model.json_codec import encode

Hint = Callable[[Any, Any], str | None]
"""The hint for an error and its details; None if there is none."""

_FIELD = re.compile(r"\{(\w+)\}")
_DEFAULT = "default"
_UNNAMED = "tool_error"


def hint_of(error: Any, meta: Any, hints: Mapping[str, str]) -> str | None:
    """The hint for a kind of error, with its fields filled in; None if a field is not known.

    >>> hint_of("gone", {"name": "a", "tools": ["b", "c"]}, {"gone": "No {name}. Try {tools}."})
    'No a. Try b, c.'
    """
    hint = hints.get(_kind(error), hints.get(_DEFAULT))
    known = _details(meta)
    if hint is None or not {*_FIELD.findall(hint)} <= known.keys():
        return None
    return _FIELD.sub(lambda found: _as_text(known[found[1]]), hint).strip() or None


def hint_function(name: str) -> Hint:
    """The function that `module:function` names, for modules in the working directory, too."""
    module, colon, function = name.partition(":")
    option = f"--hint-generator {name}"
    if not (colon and module and function):
        raise UsageError(f"{option}: expected a module and a function", "as in my_hints:hint")
    if (here := os.getcwd()) not in sys.path:
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), function)
    except Exception as error:  # whatever the module of a user raises
        raise UsageError(f"{option}: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise UsageError(f"{option} is no function")

    def hint(error: Any, meta: Any) -> str | None:
        try:
            given = found(_kind(error), _details(meta))
        except Exception as raised:
            problem = f"{option} failed for {_kind(error)}: {type(raised).__name__}: {raised}"
            raise UsageError(problem) from raised
        if given is not None and not isinstance(given, str):
            raise UsageError(f"{option} returned {given!r} for {_kind(error)}", "text, or None")
        return None if given is None else given.strip() or None

    return hint


def _kind(error: Any) -> str:
    return error if isinstance(error, str) else _UNNAMED


def _details(meta: Any) -> dict[str, Any]:
    return meta if isinstance(meta, dict) else {}


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_as_text, value))
    return value if isinstance(value, str) else encode(value).decode()
