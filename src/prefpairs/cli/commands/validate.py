"""prefpairs validate: what a trainer would do with each row of its dataset."""

import os
import sys

from prefpairs.cli.terminal.progress_bar import show_progress
from prefpairs.cli.terminal.safe_text import printable, write_stderr
from prefpairs.cli.terminal.validation_text import (
    finding_json,
    finding_line,
    limit_warnings,
    validation_hint,
    validation_summary,
)
from prefpairs.dataset.prompt_prefix_check import PromptPrefixCheck
from prefpairs.dataset.row_checks import LengthLimit
from prefpairs.engine.outputs.destination import check_written
from prefpairs.engine.survey_inputs import kind_of_inputs
from prefpairs.engine.validate import ValidatePlan
from prefpairs.engine.validate import validate as run
from prefpairs.errors import OptionsBothNeeded, OptionsConflict, UsageError, WouldBeLost
from prefpairs.files.file_system import head_of, is_file
from prefpairs.files.input_file import Input, Limits, side_of
from prefpairs.files.input_paths import find_inputs
from prefpairs.files.option_files import read_template
from prefpairs.files.output import open_output, write_file
from prefpairs.files.standard_output import STDOUT, refuse_stdout
from prefpairs.files.tokenizer import open_encoder
from prefpairs.ledger import ValidationLedger
from prefpairs.ledger.summaries import validate_summary
from prefpairs.model.json_codec import encode_pretty
from prefpairs.option import REQUIRED, argument, flag, option, options
from prefpairs.plan.export_plan import target_of
from prefpairs.plan.input_plan import limits_of, max_line_option, max_unpacked_option
from prefpairs.sources.detect import PAIRS
from prefpairs.targets import HOSTS, TARGETS
from prefpairs.targets.base import Target

_RULES = "Trainer"
_TOLD = "Output"


@options
class ValidateOptions:
    """The dataset, its trainer, and what is reported."""

    to: str = option(
        REQUIRED,
        metavar="TARGET",
        panel=_RULES,
        help=f"The trainer: {', '.join(TARGETS)}.",
        show_default=False,
    )
    inputs: list[str] | None = argument(
        None,
        metavar="[FILE]...",
        help="Files of the dataset, or its directory (default: standard input).",
    )
    host: str | None = option(
        None,
        metavar="|".join(HOSTS),
        panel=_RULES,
        help="openai: the hosting service. Default: azure.",
    )
    max_chars: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_RULES,
        help="Assume that prompt and answer are truncated to N characters.",
    )
    max_tokens: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_RULES,
        help="Assume that they are truncated to N tokens of --tokenizer (TRL: 1024).",
    )
    tokenizer: str | None = option(
        None,
        metavar="FILE",
        panel=_RULES,
        help="A tokenizer.json. Tokens that a chat template adds are not counted.",
    )
    template: str | None = option(
        None,
        metavar="FILE",
        panel=_RULES,
        help="trinity: the chat template of the model, which determines where answers are cut.",
    )
    batch_size: int = option(
        0,
        metavar="N",
        least=0,
        panel=_RULES,
        help="Rows per step; 0 is the trainer's default (NeMo RL: 128).",
    )
    limit: int | None = option(
        None,
        "-n",
        "--limit",
        metavar="N",
        least=0,
        panel=_RULES,
        help="Read only the first N rows.",
    )
    json: bool = flag(panel=_TOLD, help="Print a JSON object for each finding.")
    summary: str | None = option(
        None, metavar="FILE", panel=_TOLD, help="Also write the counts as JSON."
    )
    quiet: bool = flag("-q", "--quiet", panel=_TOLD, help="Print only findings, no summary.")
    max_line: str = max_line_option()
    max_unpacked: str | None = max_unpacked_option()

    def plan(self) -> ValidatePlan:
        """The plan of these options."""
        target = target_of(self.to, self.host)
        if not self.inputs and sys.stdin is not None and sys.stdin.isatty():
            raise UsageError("no input", "name the files of a dataset, or its folder")
        refuse_stdout("--summary", self.summary, is_for="findings")
        inputs = _inputs(self.inputs or [], target, limits_of(self.max_line, self.max_unpacked))
        return ValidatePlan(
            inputs=inputs,
            typed=_typed(inputs),
            target=target,
            length=self._length(),
            batch=self.batch_size,
            slicing=self._slicing(target),
            sides=_sides(inputs),
            limit=self.limit,
        )

    def _slicing(self, target: Target) -> PromptPrefixCheck | None:
        if self.template is None:
            return None
        if not target.rules.slices:
            raise UsageError(f"--to {target.name} cuts no answers by a template: no --template")
        try:
            return PromptPrefixCheck(read_template(self.template))
        except UsageError as error:
            raise error.at(self.template) from None

    def _length(self) -> LengthLimit | None:
        if (self.max_tokens is None) != (self.tokenizer is None):
            raise OptionsBothNeeded("--max-tokens N", "--tokenizer FILE")
        if self.max_tokens is not None and self.max_chars is not None:
            raise OptionsConflict("--max-tokens", "--max-chars", hint="choose one")
        if self.max_tokens is not None and self.tokenizer is not None:
            return LengthLimit(self.max_tokens, open_encoder(self.tokenizer))
        return None if self.max_chars is None else LengthLimit(self.max_chars)


def validate(*, words: ValidateOptions) -> None:
    """Report what a trainer would do with each row of a dataset.

    Prints one line for each problem that makes a row fail to load, crash, be dropped, or train on
    nothing or on the wrong tokens, and the first five warnings of each kind. The exit code is 4 if
    anything would be lost.

    The rules were measured with the trainers' own code. Files whose names say train, val or test
    are compared: a prompt in two splits is a leak.

    Memory: constant, plus 50 bytes per prompt if splits are compared; one pass over the input.

        prefpairs validate --to trl trl-data

        # is a prompt of val also in train?
        prefpairs validate --to trl train.jsonl val.jsonl

        # which rows would be truncated to nothing
        prefpairs validate --to trl --max-tokens 1024 --tokenizer t.json trl-data

        # the findings as data
        prefpairs validate --to openai --json t.jsonl | jq -r .code | sort | uniq -c
    """
    plan = words.plan()
    tokenizer = [Input(words.tokenizer, words.tokenizer)] if words.tokenizer else []
    check_written([words.summary], [*plan.inputs, *tokenizer])
    ledger = ValidationLedger(files=[given.label for given in plan.inputs])
    inputs = () if plan.limit is not None else plan.inputs
    with (
        show_progress(ledger.progress, inputs, quiet=words.quiet),
        open_output(STDOUT, plan.inputs) as output,
    ):
        for verdict in limit_warnings(run(plan, ledger)):
            output.write(finding_json(verdict) if words.json else finding_line(verdict))
    if words.summary is not None:
        write_file(words.summary, encode_pretty(validate_summary(ledger)))
    if not words.quiet:
        write_stderr("".join(f"{line}\n" for line in validation_summary(ledger)))
    if ledger.rows_lost or ledger.files_lost:
        files = [printable(name) for name in ledger.files_lost]
        paths = [given.path for given in plan.inputs if not given.is_stdin]
        again = plan.inputs if all(map(is_file, paths)) and paths else ()
        pairs = plan.target.unpaired or not again or kind_of_inputs(again) == PAIRS
        hint = validation_hint(ledger, plan.target.name, paths, pairs=pairs)
        raise WouldBeLost(ledger.rows_lost, ledger.rows_read, plan.target.name, files, hint)


def _inputs(words: list[str], target: Target, limits: Limits) -> list[Input]:
    """The files; of a folder those that the trainer reads, where they have its names."""
    found: list[str] = []
    for word in words or [STDOUT]:
        names = [os.path.join(word, name) for name in target.files.values()]
        found += [name for name in names if is_file(name)] or [word]
    return find_inputs(found, limits)


def _sides(inputs: list[Input]) -> dict[Input, str]:
    """The side of each file by its name; nothing where all are of one side."""
    sides = {given: side_of(given.path) for given in inputs}
    return sides if len({*sides.values()}) > 1 else {}


def _typed(inputs: list[Input]) -> frozenset[Input]:
    """The files whose columns all have a type in a card next to them."""
    folder_of = {given: os.path.dirname(given.path) for given in inputs if not given.is_stdin}
    with_card = {folder for folder in {*folder_of.values()} if _has_card(folder)}
    return frozenset(given for given, folder in folder_of.items() if folder in with_card)


def _has_card(folder: str) -> bool:
    """Whether a card in a folder gives every column of its files a type."""
    head = head_of(os.path.join(folder, "README.md"))
    return head.startswith(b"---") and b"\ndataset_info:" in head
