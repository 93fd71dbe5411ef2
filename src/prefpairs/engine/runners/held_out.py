"""The prompts of val and test, which steps must know that write pairs of other sides.

If several sides have a prompt, as the trainer sees it, one of them keeps its pairs. The steps that
count lines also read the pairs of val and test, which are few, and leave the digests of their
prompts.
"""

from dataclasses import replace

from prefpairs.dataset.convert_pair import trainer_prompt_of
from prefpairs.engine.inputs.row_reader import reading_rows
from prefpairs.engine.pairs.pairs_from_files import pair_readings
from prefpairs.engine.runners.phases import Phase, step_name
from prefpairs.engine.runners.step_plan import Work
from prefpairs.ledger import Ledger
from prefpairs.model.identity import DIGEST
from prefpairs.plan import Plan
from prefpairs.stages.split_sides import SIDES, SideOwners

_HELD_OUT = SIDES[1:]


def has_several_sides(plan: Plan) -> bool:
    """Whether the inputs belong to several sides of a dataset."""
    return plan.export is not None and len({*plan.sides.values()}) > 1


def is_held_out(plan: Plan) -> bool:
    """Whether a plan reads pairs of val or test."""
    return any(side in _HELD_OUT for side in plan.sides.values())


def prompts_of(plan: Plan) -> set[bytes]:
    """The prompts of all pairs that can be read; the step that writes them reports the others."""
    assert plan.export is not None
    target, options = plan.export.target, plan.export.options
    ledger, read = Ledger(), replace(plan.read, on_error="skip", quarantine=None)
    with reading_rows(read, ledger) as rows:
        found = {
            trainer_prompt_of(reading.pair, target, options)
            for _, readings in pair_readings(rows, ledger)
            for _, reading in readings
        }
    return {prompt for prompt in found if prompt is not None}


def write_prompts(work: Work, name: str, prompts: dict[str, set[bytes]]) -> None:
    """Leave the prompts of each side in the folder of a step."""
    for side, found in prompts.items():
        work.folder.write(f"{name}/{side}", b"".join(sorted(found)))


def owners_of_prompts(work: Work, phase: Phase) -> SideOwners:
    """Which side keeps each prompt of val and test."""
    owners = SideOwners()
    for step in range(phase.sizes[0]):
        for side in _HELD_OUT:
            content = work.folder.read(f"{step_name(phase.first, step)}/{side}") or b""
            for place in range(0, len(content), DIGEST):
                owners.add(content[place : place + DIGEST], side)
    return owners
