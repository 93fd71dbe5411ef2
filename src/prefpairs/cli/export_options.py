"""The options that say how pairs become the examples of a trainer."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from prefpairs.cli.token_options import TokenWords
from prefpairs.engine.plan import ExportPlan
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.option import REQUIRED, flag, one_of, option, options
from prefpairs.targets import HOSTS, OF_TRACES, TARGETS, target_named

if TYPE_CHECKING:
    from prefpairs.chat.template import TemplateFacts
    from prefpairs.targets.base import Target

_FORM = "How pairs become examples"


def _to_option(default: Any) -> Any:
    return option(
        default,
        metavar="TARGET",
        panel=_FORM,
        help=f"Who will read it: {', '.join(TARGETS)}.",
        show_default=False,
    )


def target_of(to: str, host: str | None) -> "Target":
    """The target of a name, as a host reads it if one is named."""
    target = target_named(to)
    if host is None:
        return target
    if not target.hosts:
        raise UsageError(f"--to {target.name} is for one reader: no --host")
    return replace(target, **target.hosts[one_of("--host", host, *target.hosts)]._asdict())


@options
class ExportWords(TokenWords):
    """The words about the form of examples, as they were typed."""

    turns: str = option(
        "auto",
        metavar="auto|first|all",
        panel=_FORM,
        help="How much of an answer: the first turn in which both differ, or all that "
        "follows. auto is what the trainer learns from.",
    )
    lossy: str = option(
        "flatten",
        metavar="flatten|refuse|drop",
        panel=_FORM,
        help="What the target cannot hold, such as calls of tools. flatten: write it as text; "
        "refuse: stop with an error; drop: leave the pair out.",
    )
    template: str | None = option(
        None,
        metavar="FILE",
        panel=_FORM,
        help="The chat template of your model (chat_template.jinja, tokenizer_config.json): "
        "--tool-args, --reasoning-as and --system become what it can render.",
    )
    reasoning_as: str | None = option(
        None,
        metavar="text|field|nothing",
        panel=_FORM,
        help="Thinking: between <think> and </think> (the default), in reasoning_content "
        "(trl; many chat templates leave it out), or not at all.",
    )
    tool_args: str | None = option(
        None,
        metavar="dict|string",
        panel=_FORM,
        help="Arguments of calls: an object (most chat templates of open models) or its "
        "JSON text (OpenAI). Default: what the target documents.",
    )
    system: str | None = option(
        None,
        metavar="keep|merge",
        panel=_FORM,
        help="merge: put system messages into the user's first one, for models without them. "
        "Default: keep.",
    )
    text: bool = flag(
        panel=_FORM, help="trl: write plain texts as they are; they hold the chat template already."
    )
    last_message: bool = flag(
        panel=_FORM,
        help="customizer: only the last message of a prompt, as the NeMo Agent Toolkit does.",
    )
    release: str | None = option(
        None,
        metavar="VERSION",
        panel=_FORM,
        help="The release of the trainer that will read it (nemo-rl). Default: the newest.",
    )
    host: str | None = option(
        None,
        metavar="|".join(HOSTS),
        panel=_FORM,
        help="openai: who runs it; the last two know no tools.",
    )

    def plan(self, to: str, temp_dir: str | None) -> ExportPlan:
        """The plan that these words ask for."""
        from prefpairs.targets.base import ExportOptions, release_of

        target = target_of(to, self.host)
        self._check(target)
        model = self.model()
        path = self.template if model is None else self.template or model.template
        facts = facts_at(path) if path is not None else None
        options = ExportOptions(
            turns=one_of("--turns", self.turns, "auto", "first", "all"),
            lossy=one_of("--lossy", self.lossy, "flatten", "refuse", "drop"),
            tool_args=self._tool_args(target, facts),
            tool_args_known=self.tool_args is not None or facts is not None,
            template_says="" if facts is None else facts.sentence(),
            reasoning_as=self._reasoning_as(target, facts),
            system=self._system(facts),
            text=self.text,
            last_message=self.last_message,
            release=release_of(self.release, target.releases),
            tokens=self.token_options(model, path),
        )
        if facts is not None and facts.tool_args is None and self.tool_args is None:
            results = target.supports.results and facts.results
            supports = replace(target.supports, calls=False, tools=False, results=results)
            target = replace(target, supports=supports)
        references = self.references()
        if self.template is not None:
            references.append(Input(self.template, self.template))
        return ExportPlan(
            target=target,
            options=options,
            temp_dir=temp_dir,
            references=references,
            typed=self._typed(),
        )

    def _typed(self) -> list[str]:
        """These words as a command line has them."""
        typed: list[str] = []
        for word in fields(ExportWords):
            value = getattr(self, word.name)
            if value != word.default:
                option = f"--{word.name.replace('_', '-')}"
                typed += [option] if value is True else [option, str(value)]
        return typed

    def refuse_form(self, naming: str) -> None:
        """Raise for words about the form of examples where no target is named."""
        typed = self._typed()
        if typed:
            hint = f"{naming} TARGET; one of {', '.join(TARGETS)}"
            raise UsageError(f"{typed[0]} says how a target writes pairs: it needs {naming}", hint)

    def _tool_args(self, target: "Target", facts: "TemplateFacts | None") -> Any:
        shown = None if facts is None else facts.tool_args
        return one_of("--tool-args", self.tool_args or shown or target.tool_args, "dict", "string")

    def _reasoning_as(self, target: "Target", facts: "TemplateFacts | None") -> Any:
        shown = facts is not None and facts.reasoning and target.supports.reasoning
        word = self.reasoning_as or ("field" if shown else "text")
        return one_of("--reasoning-as", word, "text", "field", "nothing")

    def _system(self, facts: "TemplateFacts | None") -> Any:
        lost = facts is not None and not facts.system
        return one_of("--system", self.system or ("merge" if lost else "keep"), "keep", "merge")

    def _check(self, target: "Target") -> None:
        """Raise for words that this target does not know."""
        of_some = ("text", "last_message", "tokenizer", "max_tokens", "keep_end", "pad_to", "hints")
        for word in of_some:
            if getattr(self, word) and word not in target.words:
                option = word.replace("_", "-")
                raise UsageError(f"--{option} does not go with --to {target.name}")
        if self.template is not None and not target.templated:
            raise UsageError(f"--to {target.name} renders no chat template of yours: no --template")
        if self.tool_args is not None and not (target.supports.calls and target.templated):
            raise UsageError(f"--to {target.name} has a form of its own for calls: no --tool-args")
        if self.reasoning_as == "field" and not target.supports.reasoning:
            raise UsageError(f"--to {target.name} has no field for thinking", "text, or nothing")
        if self.turns == "all" and target.single:
            raise UsageError(f"--to {target.name} holds one turn of the model: no --turns all")
        if self.release is not None and not target.releases:
            raise UsageError(f"--to {target.name} is the same for all releases: no --release")


def facts_at(path: str) -> "TemplateFacts":
    """What the chat template of a file renders."""
    from prefpairs.chat.template import facts_of
    from prefpairs.files.template_file import read_template

    try:
        return facts_of(read_template(path))
    except UsageError as error:
        if error.problem.startswith("--template"):
            error.at(path)
        raise


@options
class _MaybeFor:
    """The word that names the trainer whose view counts."""

    target: str | None = option(
        None,
        "--for",
        metavar="TARGET",
        panel=_FORM,
        help="Split by the prompt that this trainer will see, so that `export` loses no pair: "
        "shared turns move into it, thinking may go. Add the words that `export` will have.",
        show_default=False,
    )


@options
class ForWords(ExportWords, _MaybeFor):
    """The words about a trainer whose view of prompts counts, where pairs stay pairs."""

    def plan_for(self) -> ExportPlan | None:
        """How this trainer sees pairs, if one is named."""
        if self.target is not None:
            return self.plan(_of_pairs("--for", self.target), None)
        self.refuse_form("--for")
        return None


def _of_pairs(option: str, target: str) -> str:
    """The name of a target that is made from pairs."""
    if target in OF_TRACES:
        raise UsageError(f"{option} {target} reads traces, not pairs made of them", "export has it")
    return target


@options
class _MaybeTo:
    """The word that names a target, where pairs may also stay pairs."""

    to: str | None = _to_option(None)


@options
class ToWords:
    """The word that names a target."""

    to: str = _to_option(REQUIRED)


@options
class TargetWords(ExportWords, _MaybeTo):  # a dataclass begins with the fields of its last base
    """The words about a target and the form of its examples, where pairs may also stay pairs."""

    def plan_of(self, temp_dir: str | None) -> ExportPlan | None:
        """The plan that these words ask for, if they name a target."""
        if self.to is not None:
            return self.plan(_of_pairs("--to", self.to), temp_dir)
        self.refuse_form("--to")
        return None
