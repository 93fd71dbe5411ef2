"""Which task a row of verl's dumps is of, where several have one prompt text."""

import re
from collections.abc import Mapping
from typing import Any

from prefpairs.model.canonical_json import canonical_json
from prefpairs.model.identity import digest

_UID = re.compile(r"(.+)_\d+_\d+", re.DOTALL)
"""The uid of a rollout: that of its sample, and the numbers of rollout and output."""
_UID_AS_JSON = re.compile(rb'("[^"\\]+)_\d+_\d+"')


def task_of_verl(row: Mapping[str, Any]) -> list[Any] | None:
    """The task that the uid names, or else the right answer; nothing where there is neither.

    >>> task_of_verl({"uid": "0f1c_3_0", "gts": "5"})
    ['0f1c']
    """
    uid, right = row.get("uid"), row["gts"]
    if isinstance(uid, str) and (found := _UID.fullmatch(uid)):
        return [found[1]]
    if uid is not None:
        return [uid]
    return None if right is None else ["gts", digest("gts", canonical_json(right)).hex()]


def told_of_task(uid: bytes, right: bytes) -> tuple[bytes, bytes]:
    """Uid and right answer as JSON, less what differs between rollouts of a task.

    >>> told_of_task(b'"0f1c_3_0"', b'"5"')
    (b'"0f1c_0_0"', b'null')
    """
    if uid == b"null":
        return uid, right
    found = _UID_AS_JSON.fullmatch(uid)
    return found[1] + b'_0_0"' if found else uid, b"null"
