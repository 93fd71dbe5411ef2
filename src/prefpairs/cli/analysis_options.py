"""The options of the commands that look: at rollouts, at candidates, or at pairs."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace

from prefpairs.cli.read_options import READ, AsideWords, InputWords, ReadWords
from prefpairs.engine.input_kind import PAIRS
from prefpairs.engine.plan import InputPlan, PairPlan, SievePlan
from prefpairs.engine.survey_inputs import kind_of_inputs
from prefpairs.errors import MeansNothing, UnknownWord
from prefpairs.files.pipe_spool import seekable_inputs
from prefpairs.ledger import Ledger
from prefpairs.option import given_options, option, options
from prefpairs.sources import SOURCES
from prefpairs.strategies.options import PairOptions
from prefpairs.targets import PAIR_FORMATS


@options
class LookWords(ReadWords):
    """The words about inputs of any kind, as they were typed."""

    source: str = option(
        "auto",
        "--from",
        metavar="KIND",
        panel=READ,
        help=f"auto (look at the rows); for rollouts {', '.join(SOURCES)}; "
        f"for pairs pairs, {', '.join(PAIR_FORMATS)}.",
    )


@contextmanager
def looked_at(
    reading: LookWords,
    pairing: PairOptions,
    aside: AsideWords,
    ledger: Ledger,
    *,
    of_all: AbstractSet[str] = frozenset(),
) -> Iterator[SievePlan]:
    """The pairs that are looked at: as they stand in the inputs, or as `pair` makes them.

    `of_all` are words about pairs that mean something also where those are made already.
    """
    given = InputWords.input_plan(reading)
    word = reading.source.replace("_", "-")
    if word not in ("auto", *SOURCES, PAIRS, *PAIR_FORMATS):
        raise UnknownWord("format", reading.source, ["auto", *SOURCES, PAIRS, *PAIR_FORMATS])
    with ExitStack() as stack:
        both = word == "auto" or (word in SOURCES and word in PAIR_FORMATS)
        inputs = given.inputs
        if both:  # they are looked at first, and then read
            inputs = stack.enter_context(seekable_inputs(inputs, aside.temp_dir))
        kind = kind_of_inputs(inputs) if both else None
        if kind == PAIRS or (not both and word in (PAIRS, *PAIR_FORMATS)):
            _refuse_words_of_rollouts(reading, pairing, of_all)
            given = replace(given, inputs=inputs, one_kind=kind)
            yield _plan_of_pairs(given, word, aside.temp_dir)
        else:
            seekable = dict(zip(given.inputs, inputs, strict=True))
            read = reading.plan(ledger)
            inputs = [seekable[source] for source in read.inputs]
            read = replace(read, inputs=inputs, one_kind=kind)
            plan = PairPlan(read=read, options=pairing, temp_dir=aside.temp_dir)
            yield SievePlan(read=plan.read, pair=plan, temp_dir=aside.temp_dir)


def _plan_of_pairs(given: InputPlan, word: str, temp_dir: str | None) -> SievePlan:
    dialect = word if word in PAIR_FORMATS else "auto"
    return SievePlan(read=replace(given, dialect=dialect), temp_dir=temp_dir)


def _refuse_words_of_rollouts(
    reading: LookWords, pairing: PairOptions, of_all: AbstractSet[str]
) -> None:
    """Raise for options that say how pairs are made where they are made already."""
    of_inputs = {field.name for field in fields(InputWords)} | {"source"} | of_all
    options = [one for words in (reading, pairing) for one in given_options(words, of_inputs)]
    if options:
        problem = f"{options[0]} is for rollouts, and these are pairs already"
        raise MeansNothing(problem, options)
