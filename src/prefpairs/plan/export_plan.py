"""For which trainer pairs are written, and how: the options of `export`, completed for a target."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from prefpairs.errors import OptionsConflict, UsageError
from prefpairs.files.input_file import Input
from prefpairs.option import REQUIRED, given_options, one_of, option, options, options_in
from prefpairs.targets import OF_TRACES, TARGETS, target_named, trace_target_named
from prefpairs.targets.export_options import FORM, ExportOptions, TraceOptions

if TYPE_CHECKING:
    from prefpairs.chat.hints import Hint
    from prefpairs.chat.template import TemplateFacts
    from prefpairs.chat.token_ids import Tokenization
    from prefpairs.dataset.row_forms import RowsLeft
    from prefpairs.files.tokenizer import Model
    from prefpairs.stages.split import Split
    from prefpairs.targets.base import Target, TraceForm, TraceTarget


_BATCH = 8
"""The number of traces in a batch, by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportPlan:
    """For which trainer pairs are written, and how."""

    target: "Target"
    options: ExportOptions
    temp_dir: str | None = None
    references: Sequence[Input] = ()
    """The files that the form of examples depends on."""
    typed: Sequence[str] = ()
    """The command-line options for this form, without the target."""
    left: "RowsLeft | None" = None
    """What is known of rows that are left for other steps of the run to arrange."""


class TracePlan(NamedTuple):
    """For which trainer rows are made of traces, and how."""

    target: "TraceTarget"
    form: "TraceForm"


def _to_option(default: Any) -> Any:
    return option(
        default,
        metavar="TARGET",
        panel=FORM,
        help=f"The trainer: {', '.join(TARGETS)}.",
        show_default=False,
    )


@options
class ToTarget:
    """The trainer for which pairs are written."""

    to: str = _to_option(REQUIRED)


@options
class ToTargetOrPairs:
    """The trainer for which pairs are written; without one they stay pairs."""

    to: str | None = _to_option(None)

    def plan(self, form: ExportOptions, temp_dir: str | None) -> ExportPlan | None:
        """How pairs are exported, if a target is named."""
        if self.to is not None:
            return export_plan(_of_pairs("--to", self.to), form, temp_dir)
        _refuse_form(form, "--to")
        return None


@options
class ForTarget:
    """The trainer whose view of prompts counts, where pairs stay pairs."""

    target: str | None = option(
        None,
        "--for",
        metavar="TARGET",
        panel=FORM,
        help="Split by the prompt that this trainer will see, so that `export` loses no pair: it "
        "moves shared turns into the prompt and may drop reasoning. Add the options that "
        "you will pass to `export`.",
        show_default=False,
    )

    def plan(self, form: ExportOptions) -> ExportPlan | None:
        """How this trainer sees pairs, if one is named."""
        if self.target is not None:
            return export_plan(_of_pairs("--for", self.target), form, None)
        _refuse_form(form, "--for")
        return None

    def references(self, form: ExportOptions) -> list[Input]:
        """The files that --for reads."""
        seen = self.plan(form)
        return [] if seen is None else [*seen.references]

    def split_by(
        self, sides: "Split", form: ExportOptions, export: ExportPlan | None = None
    ) -> "Split":
        """The split by the prompts that a trainer will see: this one, or that of the export."""
        seen = self.plan(form)
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


def target_of(to: str, host: str | None) -> "Target":
    """The target of a name, as a host reads it if one is named."""
    target = target_named(to)
    if host is None:
        return target
    if not target.hosts:
        raise UsageError(f"--to {target.name} is for one reader: no --host")
    return replace(target, **target.hosts[one_of("--host", host, *target.hosts)]._asdict())


def export_plan(to: str, form: ExportOptions, temp_dir: str | None) -> ExportPlan:
    """How pairs are exported: the options, completed by the target and the template."""
    from prefpairs.targets.base import release_of

    target = target_of(to, form.host)
    _check(form, target)
    model = _model_of(form)
    path = form.template if model is None else form.template or model.template
    facts = facts_at(path) if path is not None else None
    completed = replace(
        form,
        tool_args=form.tool_args or (facts and facts.tool_args) or target.tool_args,
        tool_args_known=form.tool_args is not None or facts is not None,
        template_says="" if facts is None else facts.sentence(),
        reasoning_as=form.reasoning_as or _reasoning_as(target, facts),
        system=form.system or ("keep" if facts is None or facts.system else "merge"),
        release=release_of(form.release, target.releases),
        tokenization=_tokenization(form, model, path),
    )
    if facts is not None and facts.tool_args is None and form.tool_args is None:
        results = target.supports.results and facts.results
        supports = replace(target.supports, calls=False, tools=False, results=results)
        target = replace(target, supports=supports)
    return ExportPlan(
        target=target,
        options=completed,
        temp_dir=temp_dir,
        references=references_of(form),
        typed=_typed(form),
    )


def _reasoning_as(target: "Target", facts: "TemplateFacts | None") -> str:
    shown = facts is not None and facts.reasoning and target.supports.reasoning
    return "field" if shown else "text"


def trace_plan(to: str, form: ExportOptions, traces: TraceOptions) -> TracePlan:
    """How rows of tokens are made of traces."""
    from prefpairs.targets.base import TraceForm

    target = trace_target_named(to)
    for group in (form, traces):
        for name in given_options(group, target.words):
            raise OptionsConflict(name, f"--to {to}")
    model = _model_of(form)
    path = form.template or (None if model is None else model.template)
    tokens = None if model is None else _tokenization(form, model, path)
    if path is None or tokens is None:
        raise UsageError(f"--to {to} makes tokens", "--tokenizer DIR, the folder of a model")
    most = [length for length in (form.max_tokens, form.pad_to) if length is not None]
    return TracePlan(
        target,
        TraceForm(
            encode=tokens.encode,
            chat=tokens.chat,
            facts=facts_at(path),
            hint=_hint(form, traces),
            max_tokens=min(most, default=None),
            truncate=form.truncate,
            labels=form.labels,
            pad_id=tokens.pad_id,
            pad_to=form.pad_to,
            batch_size=traces.batch_size or _BATCH,
            score=traces.score,
            pairs=_pairs_of_traces(target.pairs_as, form, traces) if target.pairs_as else None,
        ),
    )


def _hint(form: ExportOptions, traces: TraceOptions) -> "Hint":
    """What gives the hints for errors."""
    from prefpairs.chat.hints import hint_function, hint_of
    from prefpairs.files.option_files import read_hints

    if traces.hint_generator is None:
        return partial(hint_of, hints={} if form.hints is None else read_hints(form.hints))
    if form.hints is not None:
        raise OptionsConflict("--hints", "--hint-generator", hint="leave one of them out")
    return hint_function(traces.hint_generator)


def _pairs_of_traces(
    to: str, form: ExportOptions, traces: TraceOptions
) -> "tuple[Target, ExportOptions]":
    """How the pairs in traces become tokens: with the same model, and a length of their own."""
    most = [length for length in (traces.max_dpo_tokens or form.max_tokens, form.pad_to) if length]
    own = replace(form, hints=None, pad_to=None, max_tokens=min(most, default=None))
    if own.max_tokens is None:
        own = replace(own, truncate=False)
    plan = export_plan(to, own, None)
    return plan.target, plan.options


def references_of(form: ExportOptions) -> list[Input]:
    """The files that these options name."""
    model = _model_of(form)
    of_model = () if model is None else (model.tokenizer, model.config, model.template)
    named = [*dict.fromkeys(of_model), form.template, form.hints]
    return [Input(path, path) for path in named if path is not None]


def _typed(form: ExportOptions) -> list[str]:
    """These options as a command line has them."""
    typed: list[str] = []
    for one in options_in(ExportOptions):
        value = getattr(form, one.field)
        if value != one.default:
            typed += [one.name] if value is True else [one.name, str(value)]
    return typed


def refuse_trace_options(to: str, traces: TraceOptions) -> None:
    """Raise for options about traces where pairs are written."""
    for name in given_options(traces, set()):
        raise OptionsConflict(name, f"--to {to}")


def _refuse_form(form: ExportOptions, naming: str) -> None:
    """Raise for options about the form of examples where no target is named."""
    typed = _typed(form)
    if typed:
        hint = f"{naming} TARGET; one of {', '.join(TARGETS)}"
        raise UsageError(f"{typed[0]} says how a target writes pairs: it needs {naming}", hint)


def _of_pairs(option: str, target: str) -> str:
    """The name of a target that is made from pairs."""
    if target in OF_TRACES:
        raise UsageError(f"{option} {target} reads traces, not pairs made of them", "export has it")
    return target


def _check(form: ExportOptions, target: "Target") -> None:
    """Raise for options that this target does not know."""
    of_tokens = (
        *("tokenizer", "max_tokens", "keep_end", "pad_to", "pad_prompt_to", "truncate"),
        *("labels", "hints", "single_turn", "custom_fields"),
    )
    for word in ("text", "last_message", "reward", *of_tokens):
        if getattr(form, word) and word not in target.words:
            raise OptionsConflict(f"--{word.replace('_', '-')}", f"--to {target.name}")
    if form.template is not None and not target.templated:
        raise UsageError(f"--to {target.name} renders no chat template of yours: no --template")
    if form.tool_args is not None and not (target.supports.calls and target.templated):
        raise UsageError(f"--to {target.name} has a form of its own for calls: no --tool-args")
    if form.reasoning_as == "field" and not target.supports.reasoning:
        raise UsageError(f"--to {target.name} has no field for thinking", "text, or nothing")
    if form.turns == "all" and target.single:
        raise UsageError(f"--to {target.name} holds one turn of the model: no --turns all")
    if form.release is not None and not target.releases:
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


def _model_of(form: ExportOptions) -> "Model | None":
    """The files that --tokenizer names."""
    if form.tokenizer is None:
        return None
    from prefpairs.files.tokenizer import model_at

    return model_at(form.tokenizer)


def _tokenization(
    form: ExportOptions, model: "Model | None", template: str | None
) -> "Tokenization | None":
    """How tokens are made with a model, and with the chat template of this file."""
    if form.truncate and form.keep_end:
        raise OptionsConflict("--truncate", "--keep-end", hint="leave one of them out")
    if form.pad_prompt_to is not None and form.pad_prompt_to >= (form.pad_to or 0):
        problem = f"--pad-prompt-to {form.pad_prompt_to} leaves no place for an answer"
        raise UsageError(problem, "--pad-to N, the length of both")
    if form.truncate and form.max_tokens is None:
        raise UsageError("--truncate needs to know a length", "--max-tokens N")
    if form.keep_end and form.max_tokens is None and form.pad_to is None:
        raise UsageError("--keep-end needs to know a length", "--max-tokens N, or --pad-to N")
    if model is None:
        return None
    from prefpairs.chat.model_spans import ChatRenderer
    from prefpairs.chat.template import compiled
    from prefpairs.chat.token_ids import Tokenization, refuse_unknown
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
    unknown = tokens.unknown()
    encode = tokens.encode if unknown is None else refuse_unknown(tokens.encode, unknown)
    return Tokenization(encode=encode, chat=chat, pad_id=pad or 0)
