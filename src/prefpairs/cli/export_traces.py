"""The part of `export` that reads traces rather than pairs."""

from dataclasses import fields, replace

from prefpairs.cli.export_options import ExportWords, facts_at
from prefpairs.cli.pair_input_options import PairInputWords
from prefpairs.cli.write_options import PlaceWords
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.ledger import Ledger
from prefpairs.sources import TRACES
from prefpairs.targets import trace_target_named
from prefpairs.targets.base import TraceOptions, TraceTarget


def export_traces(
    to: str, reading: PairInputWords, form: ExportWords, writing: PlaceWords, ledger: Ledger
) -> None:
    """Write the rows of traces."""
    from prefpairs.engine.trace_export import TraceExportPlan
    from prefpairs.engine.trace_export import export_traces as run

    target = trace_target_named(to)
    if reading.dialect not in ("auto", TRACES):
        raise UsageError(f"--to {target.name} reads traces: no --from {reading.dialect}")
    if writing.out_dir is not None:
        raise UsageError(f"--to {target.name} writes one file", "-o FILE")
    read = replace(reading.input_plan(), dialect="auto")
    plan = TraceExportPlan(read=read, target=target, options=_options(target, form))
    also_read = form.references()
    also_read += [Input(path, path) for path in (form.template, form.hints) if path is not None]
    with writing.opened("export", read, ledger, also_read=also_read) as output:
        run(plan, output, ledger, allow_empty=writing.allow_empty)


def _options(target: TraceTarget, form: ExportWords) -> TraceOptions:
    from prefpairs.files.hint_table import read_hints

    for field in fields(ExportWords):
        if field.name not in target.words and getattr(form, field.name) != field.default:
            option = field.name.replace("_", "-")
            raise UsageError(f"--{option} does not go with --to {target.name}")
    model = form.model()
    if model is None:
        raise UsageError(
            f"--to {target.name} makes tokens", "--tokenizer DIR, the folder of a model"
        )
    path = form.template or model.template
    tokens = form.token_options(model, path)
    if path is None or tokens is None or tokens.encode is None or tokens.chat is None:
        raise UsageError(
            f"--to {target.name} makes tokens", "--tokenizer DIR, the folder of a model"
        )
    return TraceOptions(
        encode=tokens.encode,
        chat=tokens.chat,
        facts=facts_at(path),
        hints={} if form.hints is None else read_hints(form.hints),
        max_tokens=form.max_tokens,
    )
