"""How pairs become the examples of a trainer: the options, and what they ask of a target."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from prefpairs.errors import OptionsConflict, UsageError
from prefpairs.files.input_file import Input
from prefpairs.option import REQUIRED, flag, one_of, option, options
from prefpairs.targets import HOSTS, OF_TRACES, TARGETS, target_named, trace_target_named

if TYPE_CHECKING:
    from prefpairs.chat.template import TemplateFacts
    from prefpairs.chat.token_ids import TokenOptions
    from prefpairs.files.tokenizer import Model
    from prefpairs.stages.split import Split
    from prefpairs.targets.base import ExportOptions, Target, TraceOptions, TraceTarget

_FORM = "Export"
_TOKENS = "Tokens"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """For which trainer pairs are written, and how."""

    target: "Target"
    options: "ExportOptions"
    temp_dir: str | None = None
    references: Sequence[Input] = ()
    """The files that the form of examples depends on."""
    typed: Sequence[str] = ()
    """The options on a command line that ask for this form, without the target."""


class TracePlan(NamedTuple):
    """For which trainer rows are made of traces, and how."""

    target: "TraceTarget"
    options: "TraceOptions"


@options
class TokenForm:
    """How examples become tokens."""

    tokenizer: str | None = option(
        None,
        metavar="FILE|DIR",
        panel=_TOKENS,
        help="tokens: a tokenizer.json, or the directory of a model with its template and "
        "special tokens. Not needed for rollouts with their own tokens.",
    )
    max_tokens: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TOKENS,
        help="tokens: leave out pairs whose prompt and answer are longer. Answers are never "
        "truncated.",
    )
    keep_end: bool = flag(
        panel=_TOKENS, help="tokens: truncate the start of a prompt that is too long."
    )
    pad_to: int | None = option(
        None,
        metavar="N",
        least=1,
        panel=_TOKENS,
        help="tokens: also write columns padded to N tokens, with attention masks.",
    )

    hints: str | None = option(
        None,
        metavar="FILE",
        panel=_TOKENS,
        help="sdpo: a TOML file with a hint for each kind of error.",
    )

    def references(self) -> list[Input]:
        """The files that --tokenizer names."""
        model = self.model()
        files = () if model is None else (model.tokenizer, model.config, model.template)
        return [Input(path, path) for path in dict.fromkeys(files) if path is not None]

    def model(self) -> "Model | None":
        """The files that --tokenizer names."""
        if self.tokenizer is None:
            return None
        from prefpairs.files.tokenizer import model_at

        return model_at(self.tokenizer)

    def token_options(self, model: "Model | None", template: str | None) -> "TokenOptions | None":
        """What these words ask for, if anything, with the chat template of this file."""
        if self.keep_end and self.max_tokens is None and self.pad_to is None:
            raise UsageError("--keep-end needs to know a length", "--max-tokens N, or --pad-to N")
        if model is None and self.max_tokens is None and self.pad_to is None:
            return None
        from prefpairs.chat.token_ids import TokenOptions

        asked = TokenOptions(max_tokens=self.max_tokens, keep_end=self.keep_end, pad_to=self.pad_to)
        return asked if model is None else _with_model(asked, model, template)


def _to_option(default: Any) -> Any:
    return option(
        default,
        metavar="TARGET",
        panel=_FORM,
        help=f"The trainer: {', '.join(TARGETS)}.",
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
class ExportForm(TokenForm):
    """How pairs become examples."""

    turns: str = option(
        "auto",
        choices=("auto", "first", "all"),
        panel=_FORM,
        help="How much of an answer to write: only the first turn that differs, or all turns. "
        "auto is what the trainer learns from.",
    )
    lossy: str = option(
        "flatten",
        choices=("flatten", "refuse", "drop"),
        panel=_FORM,
        help="How to handle content that the target does not support, such as tool calls. "
        "flatten: write it as text; refuse: stop with an error; drop: leave out the pair.",
    )
    template: str | None = option(
        None,
        metavar="FILE",
        panel=_FORM,
        help="The chat template of your model (chat_template.jinja, tokenizer_config.json). Sets "
        "--tool-args, --reasoning-as and --system to what it can render.",
    )
    reasoning_as: str | None = option(
        None,
        choices=("text", "field", "nothing"),
        panel=_FORM,
        help="Write reasoning between <think> and </think> (the default), in reasoning_content "
        "(trl; many chat templates omit it), or not at all.",
    )
    tool_args: str | None = option(
        None,
        choices=("dict", "string"),
        panel=_FORM,
        help="Write tool-call arguments as an object (most chat templates of open models) or as "
        "JSON text (OpenAI). Default: what the target documents.",
    )
    system: str | None = option(
        None,
        choices=("keep", "merge"),
        panel=_FORM,
        help="merge: put system messages into the first user message, for models without system "
        "messages. Default: keep.",
    )
    text: bool = flag(
        panel=_FORM,
        help="trl: write plain texts unchanged, because they already contain the chat template.",
    )
    last_message: bool = flag(
        panel=_FORM,
        help="customizer: write only the last message of a prompt, as the NeMo Agent Toolkit does.",
    )
    release: str | None = option(
        None,
        metavar="VERSION",
        panel=_FORM,
        help="nemo-rl: the release of the trainer. Default: the newest.",
    )
    host: str | None = option(
        None,
        choices=HOSTS,
        panel=_FORM,
        help="openai: the hosting service. Default: azure. together and fireworks do not support "
        "tools.",
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
            turns=cast("Any", self.turns),
            lossy=cast("Any", self.lossy),
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
        return ExportPlan(
            target=target,
            options=options,
            temp_dir=temp_dir,
            references=self.all_references(),
            typed=self._typed(),
        )

    def trace_plan(self, to: str) -> TracePlan:
        """How rows of tokens are made of traces."""
        from prefpairs.files.option_files import read_hints
        from prefpairs.targets.base import TraceOptions

        target = trace_target_named(to)
        for field in fields(ExportForm):
            if field.name not in target.words and getattr(self, field.name) != field.default:
                option = field.name.replace("_", "-")
                raise OptionsConflict(f"--{option}", f"--to {to}")
        model = self.model()
        path = self.template or (None if model is None else model.template)
        tokens = None if model is None else self.token_options(model, path)
        if path is None or tokens is None or tokens.encode is None or tokens.chat is None:
            raise UsageError(f"--to {to} makes tokens", "--tokenizer DIR, the folder of a model")
        options = TraceOptions(
            encode=tokens.encode,
            chat=tokens.chat,
            facts=facts_at(path),
            hints={} if self.hints is None else read_hints(self.hints),
            max_tokens=self.max_tokens,
        )
        return TracePlan(target, options)

    def all_references(self) -> list[Input]:
        """The files that these options name."""
        named = [path for path in (self.template, self.hints) if path is not None]
        return [*self.references(), *(Input(path, path) for path in named)]

    def _typed(self) -> list[str]:
        """These words as a command line has them."""
        typed: list[str] = []
        for word in fields(ExportForm):
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
        return self.tool_args or shown or target.tool_args

    def _reasoning_as(self, target: "Target", facts: "TemplateFacts | None") -> Any:
        shown = facts is not None and facts.reasoning and target.supports.reasoning
        return self.reasoning_as or ("field" if shown else "text")

    def _system(self, facts: "TemplateFacts | None") -> Any:
        lost = facts is not None and not facts.system
        return self.system or ("merge" if lost else "keep")

    def _check(self, target: "Target") -> None:
        """Raise for words that this target does not know."""
        of_some = ("text", "last_message", "tokenizer", "max_tokens", "keep_end", "pad_to", "hints")
        for word in of_some:
            if getattr(self, word) and word not in target.words:
                option = word.replace("_", "-")
                raise OptionsConflict(f"--{option}", f"--to {target.name}")
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
    from prefpairs.files.option_files import read_template

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
        help="Split by the prompt that this trainer will see, so that `export` loses no pair: it "
        "moves shared turns into the prompt and may drop reasoning. Add the options that "
        "you will pass to `export`.",
        show_default=False,
    )


@options
class FormForTarget(ExportForm, _MaybeFor):
    """The words about a trainer whose view of prompts counts, where pairs stay pairs."""

    def plan_for(self) -> ExportPlan | None:
        """How this trainer sees pairs, if one is named."""
        if self.target is not None:
            return self.plan(_of_pairs("--for", self.target), None)
        self.refuse_form("--for")
        return None

    def references_for(self) -> list[Input]:
        """The files that --for reads."""
        seen = self.plan_for()
        return [] if seen is None else [*seen.references]

    def split_by(self, sides: "Split", export: ExportPlan | None = None) -> "Split":
        """The split by the prompts that a trainer will see: this one, or that of the export."""
        seen = self.plan_for()
        if seen is not None and sides.by != "prompt":
            problem = f"--for {self.target} splits by the prompt, --by {sides.by} does not"
            raise UsageError(problem, "leave one of them out")
        if seen is not None and export is not None:
            raise UsageError("[split] knows the target of [export]", "leave it out of [split]")
        trainer = seen or export
        if trainer is None or sides.by != "prompt":
            return sides
        from prefpairs.dataset.convert_pair import trainer_prompt_of

        view = partial(trainer_prompt_of, target=trainer.target, options=trainer.options)
        return replace(sides, seen=view)


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
class ToTarget:
    """The word that names a target."""

    to: str = _to_option(REQUIRED)


@options
class ToTargetOrPairs(ExportForm, _MaybeTo):  # a dataclass begins with the fields of its last base
    """The words about a target and the form of its examples, where pairs may also stay pairs."""

    def plan_of(self, temp_dir: str | None) -> ExportPlan | None:
        """The plan that these words ask for, if they name a target."""
        if self.to is not None:
            return self.plan(_of_pairs("--to", self.to), temp_dir)
        self.refuse_form("--to")
        return None


def _with_model(asked: "TokenOptions", model: "Model", template: str | None) -> "TokenOptions":
    from prefpairs.chat.rendered_chat import ChatRenderer
    from prefpairs.chat.template import compiled
    from prefpairs.files.option_files import read_template
    from prefpairs.files.tokenizer import Tokens, special_tokens

    if template is None:
        problem = "--tokenizer names no chat template"
        raise UsageError(problem, "--template FILE, or --tokenizer DIR with the files of a model")
    source = read_template(template)
    config = model.config or (template if template.endswith(".json") else None)
    specials = special_tokens(config) if config is not None else {}
    of_config = set() if config is not None else {"bos_token", "eos_token"}
    for name in sorted(compiled(source).free_names & of_config):
        problem = f"the template writes {name}, and nothing says what that is"
        raise UsageError(problem, "--tokenizer DIR, with the tokenizer_config.json of the model")
    tokens = Tokens(model.tokenizer, exact=True)
    pad = tokens.id_of(specials.get("pad_token", ""))
    chat = ChatRenderer(source, specials, tokens.marks())
    return replace(asked, encode=tokens.encode, chat=chat, pad_id=pad or 0)
