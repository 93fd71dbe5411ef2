"""prefpairs export: pairs to the dataset of a trainer."""

import os
import re
from dataclasses import dataclass, replace
from typing import Annotated

from typer import Option

from prefpairs.cli.reading import AsideWords, PairInputWords
from prefpairs.cli.words import FLAG, command_of, one_of
from prefpairs.cli.writing import PlaceWords
from prefpairs.engines.export import export as run
from prefpairs.engines.plan import DatasetPlan, ExportPlan
from prefpairs.engines.writing import WHOLE
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.report import Report
from prefpairs.targets import TARGETS, target_named
from prefpairs.targets.protocol import ExportOptions, Target
from prefpairs.targets.releases import release_of

_FORM = "How pairs become examples"
_SIDES = {
    "train": "train",
    "training": "train",
    "val": "val",
    "validation": "val",
    "valid": "val",
    "dev": "val",
    "test": "test",
}
"""What names of files say about sides."""


@dataclass(frozen=True, kw_only=True)
class ExportWords:
    """The words about the form of examples, as they were typed."""

    turns: Annotated[
        str,
        Option(
            metavar="auto|first|all",
            rich_help_panel=_FORM,
            help="How much of an answer: the first turn in which both differ, or all that "
            "follows. auto is what the trainer learns from.",
        ),
    ] = "auto"
    lossy: Annotated[
        str,
        Option(
            metavar="flatten|refuse|drop",
            rich_help_panel=_FORM,
            help="What the target cannot hold, such as calls of tools: write it as text, "
            "stop there, or leave such pairs out.",
        ),
    ] = "flatten"
    reasoning_as: Annotated[
        str,
        Option(
            metavar="text|field|nothing",
            rich_help_panel=_FORM,
            help="Thinking: between <think> and </think>, in reasoning_content (trl; many chat "
            "templates leave it out), or not at all.",
        ),
    ] = "text"
    tool_args: Annotated[
        str | None,
        Option(
            metavar="dict|string",
            rich_help_panel=_FORM,
            help="Arguments of calls: an object (most chat templates of open models) or its "
            "JSON text (OpenAI). Default: what the target documents.",
        ),
    ] = None
    system: Annotated[
        str,
        Option(
            metavar="keep|merge",
            rich_help_panel=_FORM,
            help="merge: put system messages into the user's first one, for models without them.",
        ),
    ] = "keep"
    text: Annotated[
        bool,
        Option(
            "--text",
            metavar=FLAG,
            rich_help_panel=_FORM,
            help="trl: write plain texts as they are; they hold the chat template already.",
        ),
    ] = False
    last_message: Annotated[
        bool,
        Option(
            "--last-message",
            metavar=FLAG,
            rich_help_panel=_FORM,
            help="customizer: only the last message of a prompt, as the NeMo Agent Toolkit does.",
        ),
    ] = False
    release: Annotated[
        str | None,
        Option(
            metavar="VERSION",
            rich_help_panel=_FORM,
            help="The release of the trainer that will read it (nemo-rl). Default: the newest.",
        ),
    ] = None

    host: Annotated[
        str | None,
        Option(
            metavar="NAME",
            rich_help_panel=_FORM,
            help="openai: openai, azure, together or fireworks; the last two know no tools.",
        ),
    ] = None

    def plan(self, to: str, aside: AsideWords) -> ExportPlan:
        """The plan that these words ask for."""
        target = self._hosted(target_named(to))
        self._check(target)
        options = ExportOptions(
            turns=one_of("--turns", self.turns, "auto", "first", "all"),
            lossy=one_of("--lossy", self.lossy, "flatten", "refuse", "drop"),
            tool_args=one_of("--tool-args", self.tool_args or target.tool_args, "dict", "string"),
            reasoning_as=one_of("--reasoning-as", self.reasoning_as, "text", "field", "nothing"),
            system=one_of("--system", self.system, "keep", "merge"),
            text=self.text,
            last_message=self.last_message,
            release=release_of(self.release, target.releases),
        )
        return ExportPlan(target=target, options=options, temp_dir=aside.temp_dir)

    def _hosted(self, target: Target) -> Target:
        """The target as a host reads it."""
        if self.host is None:
            return target
        if not target.hosts:
            raise UsageError(f"--to {target.name} is for one reader: no --host")
        host = one_of("--host", self.host, *target.hosts)
        return replace(target, speech=target.hosts[host])

    def _check(self, target: Target) -> None:
        """Raise for words that this target does not know."""
        given = {"text": self.text, "last_message": self.last_message}
        for word, value in given.items():
            if value and word not in target.words:
                option = word.replace("_", "-")
                raise UsageError(f"--{option} does not go with --to {target.name}")
        if self.tool_args is not None and not target.speech.calls:
            raise UsageError(f"--to {target.name} has calls of tools as text: no --tool-args")
        if self.reasoning_as == "field" and not target.speech.reasoning:
            raise UsageError(f"--to {target.name} has no field for thinking", "text, or nothing")
        if self.turns == "all" and target.single:
            raise UsageError(f"--to {target.name} holds one turn of the model: no --turns all")
        if self.release is not None and not target.releases:
            raise UsageError(f"--to {target.name} is the same for all releases: no --release")


@command_of
def export(
    *,
    to: Annotated[
        str,
        Option(
            metavar="TARGET",
            rich_help_panel=_FORM,
            help=f"Who will read it: {', '.join(TARGETS)}.",
            show_default=False,
        ),
    ],
    reading: PairInputWords,
    form: ExportWords,
    aside: AsideWords,
    writing: PlaceWords,
) -> None:
    """Pairs to the dataset of a trainer.

    The prompt is cut where the two answers part, and answers are said as the trainer can hold
    them; what had to be changed is counted. Rows that bring new fields stand first, so that
    loaders know the type of every column. Inputs called train, val and test are sides.

        prefpairs export --to trl data --out-dir trl-data

    Memory: 24 bytes a row; the rows wait in a temporary file until the last one is known.
    """
    report = Report()
    read = reading.input_plan()
    sides = {given: side_of(given) if writing.out_dir else WHOLE for given in read.inputs}
    plan = DatasetPlan(read=read, sides=sides, export=form.plan(to, aside))
    with writing.placed("export", plan, report) as outputs:
        run(plan, outputs, report, allow_empty=writing.allow_empty)


def side_of(given: Input) -> str:
    """The side that the name of a file speaks of; any other name is training data."""
    words = re.split(r"[^a-z]+", os.path.basename(given.path).lower())
    found = [_SIDES[word] for word in words if word in _SIDES]
    return found[0] if found else "train"
