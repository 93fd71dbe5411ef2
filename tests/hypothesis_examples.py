"""How many examples Hypothesis tries."""

from typing import Any

from hypothesis import settings


def examples(count: int, **others: Any) -> settings:
    """Settings for this many examples in `make stress`, and a share of them in quicker runs.

    Each profile in conftest.py sets that share in percent.
    """
    share = settings().max_examples / 100
    return settings(max_examples=max(min(count, 3), round(count * share)), **others)
