"""The one driver: it runs a plan, whichever command, recipe or program made it.

Here it is decided what an empty result is (exit code 3), whether the gates are met (exit code 4),
and when the files of a run appear. Nothing is printed, no signal is handled and no process is ended
here: the command line does that.
"""

from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from prefpairs.engine.inputs.candidate_reader import candidates_of, reading_inputs
from prefpairs.engine.outputs.destination import Destination, note_mixed_sides
from prefpairs.engine.pairs.pair_io import WHOLE, open_pairs, open_sink
from prefpairs.errors import FileError, NothingCameOut, PrefpairsError, TwoReadings
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.output import Output, write_file
from prefpairs.files.standard_output import ClosedPipe
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import candidate_line
from prefpairs.model.identity import IDENTITY_VERSION
from prefpairs.model.json_codec import encode_pretty
from prefpairs.plan import InputPlan, Plan, ReadPlan

if TYPE_CHECKING:
    from prefpairs.engine.outputs.manifest import ManifestWriter
    from prefpairs.engine.outputs.required_counts import Gate


def run(plan: Plan, ledger: Ledger) -> Destination:
    """Do all that a plan says; the files of a run that ends well appear together, there."""
    destination, gates, manifest = prepare(plan)
    note_mixed_sides(plan, ledger)
    try:
        with FileTransaction(
            hashed=manifest is not None and manifest.path is not None
        ) as transaction:
            if manifest is not None:
                manifest.begin(transaction)
            with destination.opened(transaction) as outputs:
                write(plan, outputs, ledger)
                for gate in gates:
                    gate.check(summary_of(plan, ledger))
            if manifest is not None:
                manifest.finish(summary_of(plan, ledger), ledger, transaction)
            _write_summary(plan, ledger, transaction)
    except TwoReadings:
        raise  # the run stopped at the first such row: counts of a part would say nothing
    except PrefpairsError:
        with suppress(FileError):  # it must not hide why the run failed
            _write_summary(plan, ledger)
        raise
    except ClosedPipe:
        _write_summary(plan, ledger)
        raise
    return destination


def prepare(plan: Plan) -> "tuple[Destination, list[Gate], ManifestWriter | None]":
    """Where results will go, on which conditions, and what writes their manifest.

    Raises if they could not go there, if a file would be lost, or if a condition means nothing.
    """
    gates: list[Gate] = []
    if plan.write.require:
        from prefpairs.engine.outputs.required_counts import read_gates

        gates = read_gates(plan.write.require, summary_of(plan, Ledger()))
    destination = Destination(plan)
    destination.check()
    if plan.manifest is None:
        return destination, gates, None
    from prefpairs.engine.outputs.manifest import ManifestWriter

    manifest = ManifestWriter(plan.manifest, destination)
    manifest.check()
    return destination, gates, manifest


def write(plan: Plan, outputs: Mapping[str, Output], ledger: Ledger) -> None:
    """Write the results of a plan to outputs that are open."""
    if plan.traces is not None:
        from prefpairs.engine.outputs.export import export_traces

        export_traces(plan.read, plan.traces, outputs[WHOLE], ledger)
        came_out = ledger.traces
    elif plan.makes == "candidates":
        _write_candidates(plan.read, outputs[WHOLE], ledger)
        came_out = ledger.candidates_kept
    else:
        _write_pairs(plan, outputs, ledger)
        came_out = ledger.lines_written.total()
    if not came_out and not plan.write.allow_empty:
        raise NothingCameOut(plan.makes.removesuffix("s"))


def _write_candidates(plan: InputPlan, output: Output, ledger: Ledger) -> None:
    """Write every candidate of the inputs; nothing more once there was a bad row."""
    with reading_inputs(cast("ReadPlan", plan), ledger) as reader:
        for given in reader.inputs():
            for candidate in candidates_of(given.rows):
                if not reader.rows.failed:
                    output.write(candidate_line(candidate))


def _write_pairs(plan: Plan, outputs: Mapping[str, Output], ledger: Ledger) -> None:
    """Read pairs or make them, pass them through the stages, and write each for its side.

    `pair` makes them like this (engine/pairs/pairs_from_candidates): index all candidates, decide
    by columns alone which of them are pairs (engine/store/decide), fetch the two texts, write. A
    sink writes one line per pair (engine/pairs/pair_io), or the rows of a trainer
    (engine/outputs/export).
    """
    if plan.sides and plan.export is not None:
        ledger.sides = {side: 0 for side in plan.export.target.files if side in outputs}
    with open_pairs(plan, ledger) as pairs:
        if not (plan.stages or plan.split is not None):
            with open_sink(outputs, ledger, plan) as sink:
                pairs.put_all(sink)
            return
        from prefpairs.engine.pairs.stage_runner import note_empty_sides, put_through_stages

        put_through_stages(plan, pairs, outputs, ledger)
    note_empty_sides(plan, ledger)


def summary_of(plan: Plan, ledger: Ledger) -> dict[str, Any]:
    """What is known of a run, as `--summary` writes it and `--require` compares it."""
    from prefpairs.ledger.summaries import extract_summary, pair_input_summary, pair_summary

    if plan.makes == "candidates":
        counts = extract_summary(ledger)
    else:
        counts = pair_input_summary(ledger) if plan.pair is None else pair_summary(ledger)
    return {"identity": IDENTITY_VERSION, **counts}


def _write_summary(plan: Plan, ledger: Ledger, transaction: FileTransaction | None = None) -> None:
    if plan.write.summary is not None:
        content = encode_pretty(summary_of(plan, ledger))
        write_file(plan.write.summary, content, transaction)
