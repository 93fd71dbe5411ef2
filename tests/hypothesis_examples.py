"""How many examples a property is tried on."""

from typing import Any

from hypothesis import settings


def examples(count: int, **others: Any) -> settings:
    """Settings for so many examples in `make stress`, and for a share of them before.

    The profiles are in conftest.py; what they take is meant per hundred.
    """
    share = settings().max_examples / 100
    return settings(max_examples=max(min(count, 3), round(count * share)), **others)
