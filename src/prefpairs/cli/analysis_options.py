"""The options of commands that analyse data of any kind: rollouts, candidates or pairs."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from dataclasses import replace

from prefpairs.engine.survey_inputs import kind_of_inputs
from prefpairs.errors import MeansNothing, UnknownWord
from prefpairs.fields.read_options import READ, ReadOptions
from prefpairs.files.pipe_spool import seekable_inputs
from prefpairs.option import given_options, option, options
from prefpairs.plan import PairPlan, Plan, ReadPlan
from prefpairs.plan.input_plan import TempDir
from prefpairs.sources import SOURCES
from prefpairs.sources.detect import PAIRS
from prefpairs.strategies.options import PairOptions
from prefpairs.targets import PAIR_FORMATS


@options
class AnyInputPlan(ReadPlan):
    """Which inputs are read, whether they hold rollouts or pairs."""

    source: str = option(
        "auto",
        "--from",
        metavar="KIND",
        panel=READ,
        help=f"auto (recognise each row by its columns); for rollouts {', '.join(SOURCES)}; "
        f"for pairs pairs, {', '.join(PAIR_FORMATS)}.",
    )


@contextmanager
def analysed(
    inputs: AnyInputPlan,
    rows: ReadOptions,
    pairing: PairOptions,
    temp: TempDir,
    *,
    of_all: AbstractSet[str] = frozenset(),
) -> Iterator[Plan]:
    """The plan of an analysis: of the pairs in the inputs, or of those that `pair` would make.

    `of_all` are options about pairs that also apply to pairs which are made already.
    """
    word = inputs.source.replace("_", "-")
    if word not in ("auto", *SOURCES, PAIRS, *PAIR_FORMATS):
        raise UnknownWord("format", inputs.source, ["auto", *SOURCES, PAIRS, *PAIR_FORMATS])
    with ExitStack() as stack:
        given = inputs.found()
        both = word == "auto" or (word in SOURCES and word in PAIR_FORMATS)
        kind = None
        if both:  # the first rows are looked at, and then read again
            seekable = stack.enter_context(seekable_inputs(given.inputs, temp.temp_dir))
            kind = kind_of_inputs(seekable)
            given = replace(given, inputs=seekable, one_kind=kind)
        if kind == PAIRS or (not both and word in (PAIRS, *PAIR_FORMATS)):
            _refuse_options_of_rollouts(rows, pairing, of_all)
            dialect = word if word in PAIR_FORMATS else "auto"
            yield Plan(read=replace(given, dialect=dialect), temp_dir=temp.temp_dir)
        else:
            read = given.as_rollouts(rows)
            pair = PairPlan(read=read, options=pairing, temp_dir=temp.temp_dir)
            yield Plan(read=read, pair=pair, temp_dir=temp.temp_dir)


def _refuse_options_of_rollouts(
    rows: ReadOptions, pairing: PairOptions, of_all: AbstractSet[str]
) -> None:
    """Raise for options that say how pairs are made, where they are made already."""
    given = [one for group in (rows, pairing) for one in given_options(group, {*of_all})]
    if given:
        problem = f"{given[0]} is for rollouts, and these are pairs already"
        raise MeansNothing(problem, given)
