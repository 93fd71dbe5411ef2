"""prefpairs diff: what changed between two sets of pairs."""

import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from prefpairs.analysis.pair_set_diff import (
    KINDS,
    MeanMedian,
    PairSetDiff,
    PairSetFigures,
    diff_pair_sets,
    ids_of,
)
from prefpairs.cli.terminal.progress_bar import inputs_to_measure, show_progress
from prefpairs.cli.terminal.safe_text import printable, write_stderr
from prefpairs.cli.terminal.summary_text import losses_text
from prefpairs.engine.diff import DiffPlan, read_both
from prefpairs.engine.outputs.destination import check_written
from prefpairs.errors import OptionsConflict, UsageError
from prefpairs.fields.read_options import READ
from prefpairs.files.input_file import STDIN, labels
from prefpairs.files.output import open_output
from prefpairs.files.standard_output import STDOUT
from prefpairs.ledger import Ledger, Progress
from prefpairs.model.json_codec import encode_pretty
from prefpairs.option import argument, flag, one_of, option, options
from prefpairs.plan import InputPlan
from prefpairs.plan.input_plan import PairInputPlan

_TOLD = "Output"
_DIFFERENT = 4
"""The exit code of --exit-code: a gate is not met."""

_UNKNOWN = "-"


@options
class DiffInputs(PairInputPlan):
    """The words about what is compared, as they were typed."""

    paths: list[str] | None = argument(
        None,
        key="inputs",
        metavar="BEFORE AFTER",
        help="Two sets of pairs: files, directories, globs, or - for standard input.",
    )
    limit: int | None = option(
        None,
        "-n",
        "--limit",
        metavar="N",
        least=0,
        panel=READ,
        help="Read only the first N rows of each.",
    )

    def diff_plan(self) -> DiffPlan:
        """The plan of these options."""
        if len(self.paths or []) != 2:
            raise UsageError(
                "diff compares two sets of pairs", "usage: prefpairs diff BEFORE AFTER"
            )
        before, after = self.paths or []
        if before == after == STDIN:
            raise UsageError("standard input can be read once only", "name a file")
        return _labelled(
            replace(self, paths=[before]).found(), replace(self, paths=[after]).found()
        )


def _labelled(before: InputPlan, after: InputPlan) -> DiffPlan:
    """The plans with labels by which the files of both can be told apart."""
    paths = [*dict.fromkeys(given.path for plan in (before, after) for given in plan.inputs)]
    names = dict(zip(paths, labels(paths), strict=True))
    plans = (
        replace(plan, inputs=[given._replace(label=names[given.path]) for given in plan.inputs])
        for plan in (before, after)
    )
    return DiffPlan(next(plans), next(plans))


@options
class DiffOptions:
    """How the differences are reported."""

    json: bool = flag(panel=_TOLD, help="Print the result as a JSON object.")
    ids: str | None = option(
        None,
        metavar="|".join(KINDS),
        panel=_TOLD,
        help="Print the ids of these pairs instead, one per line, for `prefpairs show --id -`: "
        "ids of BEFORE for lost, otherwise of AFTER.",
    )
    exit_code: bool = flag(
        panel=_TOLD,
        help=f"Exit with {_DIFFERENT} unless both have the same pairs with the same scores.",
    )
    quiet: bool = flag("-q", "--quiet", panel=_TOLD, help="Print only errors.")


def diff(*, inputs: DiffInputs, asked: DiffOptions) -> None:
    """Show what changed between two sets of pairs.

    Pairs are compared by id, a digest of prompt, tools, chosen and rejected. They are kept, lost,
    added, flipped (chosen and rejected are swapped) or rescored (kept, with other scores). Gaps and
    lengths of both sets are compared as well; lengths are characters of all that an answer says.

        prefpairs diff pairs.jsonl filtered.jsonl
        prefpairs diff --ids lost a.jsonl b.jsonl | prefpairs show --id - a.jsonl

    Exit 0 even if there are differences.

    Memory: 140 bytes per pair of each set.
    """
    kind = None if asked.ids is None else one_of("--ids", asked.ids, *KINDS)
    if kind is not None and asked.json:
        raise OptionsConflict("--ids", "--json", hint="choose one")
    course = Progress()
    plan, ledgers = inputs.diff_plan(), (Ledger(progress=course), Ledger(progress=course))
    check_written([plan.before.quarantine], [*plan.before.inputs, *plan.after.inputs])
    whole = [*inputs_to_measure(plan.before), *inputs_to_measure(plan.after)]
    with show_progress(course, whole, quiet=asked.quiet):
        before, after = read_both(plan, ledgers)
    found = diff_pair_sets(before, after)
    with open_output(STDOUT) as output:
        if kind is not None:
            for name in ids_of(kind, before, after):
                output.write(f"{name}\n".encode())
        else:
            output.write(
                encode_pretty(_as_json(found)) if asked.json else _table(found, plan).encode()
            )
    if not asked.quiet:
        write_stderr("".join(map(losses_text, ledgers)))
    if asked.exit_code and not found.same:
        sys.exit(_DIFFERENT)


def _as_json(found: PairSetDiff) -> dict[str, Any]:
    return {
        "before": _side_as_json(found.before),
        "after": _side_as_json(found.after),
        "prompts": found.prompts,
        "pairs": found.pairs,
    }


def _side_as_json(traits: PairSetFigures) -> dict[str, Any]:
    told = traits._asdict().items()
    return {name: item._asdict() if isinstance(item, MeanMedian) else item for name, item in told}


def _table(found: PairSetDiff, plan: DiffPlan) -> str:
    """What changed, as people read it."""
    pairs, prompts = found.pairs, found.prompts
    rows = [
        ("", "before", "after", "change"),
        *_counts(found.before, found.after),
        *_spreads(found.before, found.after),
    ]
    told = [f"{pairs[kind]:,} {kind}" for kind in ("lost", "added", "flipped")]
    lines = [
        f"{'before':10}{_names(plan.before)}",
        f"{'after':10}{_names(plan.after)}",
        "",
        *(
            f"{name:24}{one:>12}{other:>12}{change:>12}".rstrip()
            for name, one, other, change in rows
        ),
        "",
        _listed("prompts", [f"{count:,} {kind}" for kind, count in prompts.items()]),
        _listed(
            "pairs", [f"{pairs['kept']:,} kept ({pairs['rescored']:,} of them rescored)", *told]
        ),
    ]
    return "".join(f"{line}\n" for line in lines)


def _listed(name: str, told: list[str]) -> str:
    return f"{name:10}{', '.join(told)}"


def _names(plan: InputPlan) -> str:
    more = len(plan.inputs) - 1
    return printable(plan.inputs[0].label) + (f" and {more:,} more" if more else "")


def _counts(before: PairSetFigures, after: PairSetFigures) -> Iterator[tuple[str, str, str, str]]:
    of_both = {
        "pairs": (before.pairs, after.pairs),
        "distinct pairs": (before.distinct, after.distinct),
        "prompts": (before.prompts, after.prompts),
    }
    for name, (one, other) in of_both.items():
        yield name, f"{one:,}", f"{other:,}", f"{other - one:+,}" if one != other else "0"


def _spreads(before: PairSetFigures, after: PairSetFigures) -> Iterator[tuple[str, str, str, str]]:
    of_both = {
        "gap": (before.gap, after.gap),
        "chosen chars": (before.chosen_chars, after.chosen_chars),
        "rejected chars": (before.rejected_chars, after.rejected_chars),
    }
    for name, (ours, theirs) in of_both.items():
        for at, kind in enumerate(MeanMedian._fields):
            one, other, change = ours[at], theirs[at], _UNKNOWN
            if one is not None and other is not None:
                change = _changed(other - one)
            yield f"{name}, {kind}", _number(one), _number(other), change


def _number(number: float | None, sign: str = "") -> str:
    """A count, a mean or a median, short enough to be read."""
    if number is None:
        return _UNKNOWN
    digits = ".4g" if abs(number) < 100 else ".1f"
    return f"{number:{sign},{digits}}".removesuffix(".0")


def _changed(difference: float) -> str:
    """By how much a number changed; nothing but noise is no change."""
    rounded = round(difference, 12)
    return _number(rounded, sign="+") if rounded else "0"
