"""The options that say what is read: shared by every command that takes rollouts."""

import re
import sys
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from prefpairs.cli.score_option import notes_on_direction, scores_of
from prefpairs.engine.plan import InputPlan, ReadPlan, Tolerated
from prefpairs.errors import UsageError
from prefpairs.fields.answer import ReadOptions
from prefpairs.files.file_system import is_folder
from prefpairs.files.inputs import Input, Limits, databases_in, find_inputs
from prefpairs.files.standard_output import refuse_stdout
from prefpairs.files.tokenizer import open_decoder
from prefpairs.ledger import Ledger
from prefpairs.model.marks import MARKS
from prefpairs.option import argument, flag, one_of, option, options, size_of, split_words
from prefpairs.reasons import CONFLICTING, SWITCHABLE
from prefpairs.sources import GROUP_WORDS, SOURCES, source_named
from prefpairs.sources.base import Source

if TYPE_CHECKING:
    from prefpairs.chat.unrender import Unrenderer

READ = "What is read"
_TROUBLE = "When something is wrong"

_LONGEST_LINE = 4_000_000_000


def max_line_option() -> Any:
    """--max-line, of every command that reads lines."""
    return option(
        "64MB",
        metavar="SIZE",
        panel=_TROUBLE,
        help="A line that is longer is a bad row; no more than that is held in memory.",
    )


def max_unpacked_option() -> Any:
    """--max-unpacked, of every command that reads packed files."""
    return option(
        None,
        metavar="SIZE",
        panel=_TROUBLE,
        help="Packed files and Parquet may hold so much (default: 1GB, or 200 times their size).",
        show_default=False,
    )


def limits_of(max_line: str, max_unpacked: str | None) -> Limits:
    """How much of an input is taken for granted."""
    line = size_of("--max-line", max_line)
    if line > _LONGEST_LINE:
        raise UsageError(f"--max-line {max_line}: no line can be that long", "4GB is the most")
    return Limits(
        line=line,
        unpacked=None if max_unpacked is None else size_of("--max-unpacked", max_unpacked),
    )


@options
class InputWords:
    """The words about inputs, as they were typed."""

    inputs: list[str] | None = argument(
        None,
        metavar="[INPUT]...",
        help="Files, directories, globs, or - for standard input (the default). JSON lines, "
        "a JSON array, Parquet, TRXP or SQLite; gzip and zstd are unpacked.",
    )
    limit: int | None = option(
        None, "-n", "--limit", metavar="N", least=0, panel=READ, help="Read N rows."
    )
    on_error: str = option(
        "fail",
        metavar="fail|skip|quarantine",
        panel=_TROUBLE,
        help="What to do about rows that cannot be read.",
    )
    quarantine: str | None = option(
        None, metavar="FILE", panel=_TROUBLE, help="Where bad rows go, with reasons."
    )
    max_errors: str | None = option(
        None,
        metavar="N|P%",
        panel=_TROUBLE,
        help="With skip or quarantine: fail all the same if more rows than that are bad.",
    )
    max_line: str = max_line_option()
    max_unpacked: str | None = max_unpacked_option()

    def input_plan(self) -> InputPlan:
        """The plan that these words ask for."""
        if not self.inputs and sys.stdin is not None and sys.stdin.isatty():
            raise UsageError("no input", "name files, or pipe rows into standard input")
        on_error = one_of("--on-error", self.on_error, "fail", "skip", "quarantine")
        refuse_stdout("--quarantine", self.quarantine)
        if (on_error == "quarantine") != (self.quarantine is not None):
            problem = "--on-error quarantine and --quarantine FILE go together"
            raise UsageError(problem, "give both, or neither")
        return InputPlan(
            inputs=find_inputs(self.inputs or [], limits_of(self.max_line, self.max_unpacked)),
            on_error=on_error,
            quarantine=self.quarantine,
            tolerated=self._tolerated(on_error),
            limit=self.limit,
        )

    def _tolerated(self, on_error: str) -> Tolerated | None:
        if self.max_errors is None:
            return None
        if on_error == "fail":
            problem = "--max-errors is for --on-error skip and --on-error quarantine"
            raise UsageError(problem, "by itself one bad row is one too many")
        found = re.fullmatch(r"([0-9]+)|([0-9]+(?:\.[0-9]+)?) ?%", self.max_errors.strip())
        if found is None or (found[2] and Decimal(found[2]) > 100):
            problem = f"--max-errors {self.max_errors}: expected a number of rows, or a share"
            raise UsageError(problem, "as in 100 or 0.5%")
        if found[1]:
            return Tolerated(self.max_errors, number=int(found[1]))
        return Tolerated(self.max_errors, percent=Decimal(found[2]))


@options
class AsideWords:
    """Where input that cannot be sought is put aside."""

    temp_dir: str | None = option(
        None,
        metavar="DIR",
        panel="How it runs",
        help="Where pipes and packed files are put aside (default: the system's).",
    )

    def __post_init__(self) -> None:
        """Raise for a directory that is not there, whether it will be needed or not."""
        if self.temp_dir is not None and not is_folder(self.temp_dir):
            raise UsageError(f"--temp-dir {self.temp_dir}: there is no such directory")


@options
class ReadWords(InputWords):
    """The words about reading rollouts, as they were typed."""

    source: str = option(
        "auto",
        "--from",
        metavar="SOURCE",
        panel=READ,
        help=f"auto (look at each row), or one of {', '.join(SOURCES)}.",
    )
    scores: list[str] | None = option(
        None,
        "--score",
        metavar="PATH[:WEIGHT]",
        panel=READ,
        help="Dotted path of the score; several are added, each times its weight.",
    )
    lower_is_better: bool = flag(panel=READ, help="Negate scores.")
    cast_score: bool = flag(panel=READ, help='Read scores written as text, "0.7".')
    prompt: str | None = option(
        None, metavar="PATH", panel=READ, help="Path of the prompt, text or messages."
    )
    response: str | None = option(
        None, metavar="PATH", panel=READ, help="Path of the response, or of a list of them."
    )
    context: list[str] | None = option(
        None,
        metavar="PATH,...",
        panel=READ,
        help="Rows of your own: text beside the prompt that is part of the question, and goes "
        "before it.",
    )
    ignore: list[str] | None = option(
        None,
        metavar="COLUMN,...",
        panel=READ,
        help="Rows of your own: columns that do not count, as if the rows did not have them.",
    )
    group_by: str = option(
        "auto",
        metavar="auto|prompt|file|PATH,...",
        panel=READ,
        help="Which candidates compete: those of one task (auto), prompt or file, or those "
        f"that agree in these fields. Different prompts never meet. {GROUP_WORDS}",
    )
    step_name: str = option(
        "dpo_candidate_move", metavar="NAME", panel=READ, help="NAT: the TTC step to take."
    )
    response_part: str = option(
        "full",
        metavar="full|final",
        panel=READ,
        help="The whole turn with tool calls and results, or its last text alone.",
    )
    reasoning: str = option(
        "keep",
        metavar="keep|drop",
        panel=READ,
        help="Keep thinking, in reasoning_content, or leave it out.",
    )
    prompt_template: str | None = option(
        None,
        metavar="FILE",
        panel=READ,
        help="For logs of Trinity-RFT, verl and TRL 1.14: the chat template that made the "
        "prompts (chat_template.jinja, tokenizer_config.json); they become messages again.",
    )
    tokenizer: str | None = option(
        None,
        metavar="FILE|DIR",
        panel=READ,
        help="The model's tokenizer.json, or its folder: for rows of Trinity-RFT that hold "
        "tokens alone, and for --to tokens.",
    )
    keep: list[str] | None = option(
        None, metavar="PATH,...", panel=READ, help="Fields to carry along in meta."
    )
    keep_rows: list[str] | None = option(
        None,
        metavar="REASON,...",
        panel=_TROUBLE,
        help="Use rows that are dropped otherwise, by reason: "
        f"{', '.join(SWITCHABLE)}. A row kept without a score counts as 0.",
    )
    drop_rows: list[str] | None = option(
        None,
        metavar="REASON,...",
        panel=_TROUBLE,
        help="Drop answers that are used otherwise, by reason: incomplete (in rows of your own "
        "finish_reason and the like say that they were cut off), failed (an error beside "
        "them), conflicting_scores (the same answer has several scores in its group).",
    )

    def references(self) -> list[Input]:
        """The files that are read besides the inputs."""
        return [Input(path, path) for path in (self.prompt_template, self.tokenizer) if path]

    def plan(self, ledger: Ledger) -> ReadPlan:
        """The plan that these words ask for."""
        given = self.input_plan()
        options = self._options()
        for note in notes_on_direction(options):
            ledger.note(note)
        for path in databases_in(self.inputs or []):
            ledger.note(f"{path} was not read: name the database file itself")
        source = self.source.replace("_", "-")
        # Imported before any file is opened: an unknown name then costs nothing, and no signal
        # arrives while Python compiles a module, which would swallow the exception.
        sources = [source_named(name) for name in (SOURCES if source == "auto" else [source])]
        return ReadPlan(
            inputs=_without_companions(given.inputs, sources, ledger),
            on_error=given.on_error,
            quarantine=given.quarantine,
            tolerated=given.tolerated,
            limit=given.limit,
            source=source,
            options=options,
        )

    def _options(self) -> ReadOptions:
        if self.lower_is_better and "no_score" in split_words(self.keep_rows):
            problem = "--keep-rows no_score would count a missing score as the best one"
            raise UsageError(problem, "leave it away, or do without --lower-is-better")
        reasons = [one_of("reason", word, *SWITCHABLE) for word in split_words(self.keep_rows)]
        dropped = [
            one_of("--drop-rows", word, *MARKS, CONFLICTING) for word in split_words(self.drop_rows)
        ]
        for reason in dropped:
            if reason in reasons:
                problem = f"--keep-rows and --drop-rows both name {reason}"
                raise UsageError(problem, "leave one of them out")
        return ReadOptions(
            scores=scores_of(self.scores or []),
            lower_is_better=self.lower_is_better,
            cast_score=self.cast_score,
            prompt=self.prompt,
            response=self.response,
            context=split_words(self.context),
            ignore=split_words(self.ignore),
            group_by=_group_by(self.group_by),
            step_name=self.step_name,
            response_part=one_of("--response-part", self.response_part, "full", "final"),
            reasoning=one_of("--reasoning", self.reasoning, "keep", "drop"),
            keep=split_words(self.keep),
            keep_rows=frozenset(reasons),
            drop_rows=frozenset(dropped),
            decoder=None if self.tokenizer is None else open_decoder(self.tokenizer),
            unrender=self._unrender(),
        )

    def _unrender(self) -> "Unrenderer | None":
        if self.prompt_template is None:
            return None
        from prefpairs.chat.unrender import Unrenderer
        from prefpairs.files.template_file import read_template

        unrenderer = Unrenderer(read_template(self.prompt_template))
        try:
            known = unrenderer.form is not None
        except UsageError as error:
            raise error.at(self.prompt_template) from None
        if not known:
            problem = "--prompt-template: it renders no chat of a user and the model"
            raise UsageError(problem, "is this the chat template?").at(self.prompt_template)
        return unrenderer


def _without_companions(
    inputs: Sequence[Input], sources: Sequence[Source], ledger: Ledger
) -> Sequence[Input]:
    """The inputs without the files that tools write beside their rollouts."""
    known = [source.companions for source in sources if source.companions is not None]
    found = [
        (given, companions.writer)
        for given in inputs
        for companions in known
        if companions.include(given.path)
    ]
    ledger.skipped_files = [(given.label, writer) for given, writer in found]
    skipped = {given for given, _ in found}
    return [given for given in inputs if given not in skipped]


def _group_by(word: str) -> Any:
    if word in ("auto", "prompt", "file"):
        return word
    paths = split_words([word])
    if not paths:
        raise UsageError("--group-by names nothing", "auto, prompt, file, or fields of the rows")
    return paths
