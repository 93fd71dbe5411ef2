"""Plans of those who look at pairs, or at rollouts and the pairs they would give."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from laws_driver import Asked, named_files

from prefpairs.engines.plan import InputPlan, PairPlan, ReadPlan, SievePlan


@contextmanager
def looked_at(shards: Sequence[Sequence[bytes]], asked: Asked | None) -> Iterator[SievePlan]:
    """The pairs in files of these lines, or those that `pair` would make of them."""
    files = {f"part-{place}.jsonl": b"".join(lines) for place, lines in enumerate(shards)}
    with named_files(files) as inputs:
        plan = SievePlan(read=InputPlan(inputs=inputs, on_error="skip"))
        if asked is not None:
            read = ReadPlan(inputs=inputs, options=asked.read, on_error="skip")
            making = PairPlan(
                read=read,
                strategy=asked.strategy,
                options=asked.options,
                across_prompts=asked.across_prompts,
            )
            plan = SievePlan(read=read, pair=making)
        yield plan
