"""Plans of commands that look at pairs, or at rollouts and the pairs they would give."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from run_in_process import Asked, named_files

from prefpairs.plan import InputPlan, Plan


@contextmanager
def looked_at(shards: Sequence[Sequence[bytes]], asked: Asked | None) -> Iterator[Plan]:
    """The pairs in files with these lines, or those that `pair` would make of them."""
    files = {f"part-{place}.jsonl": b"".join(lines) for place, lines in enumerate(shards)}
    with named_files(files) as inputs:
        if asked is None:
            yield Plan(read=InputPlan(inputs=inputs, on_error="skip"))
            return
        making = asked.plan(inputs)
        yield Plan(read=making.read, pair=making)
