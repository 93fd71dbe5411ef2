"""The part of `export` that reads traces themselves, and not pairs made of them."""

from dataclasses import fields, replace
from typing import TYPE_CHECKING

from prefpairs.cli.export_options import ExportWords, facts_at
from prefpairs.cli.pair_input_options import TRACES, PairInputWords
from prefpairs.cli.write_options import PlaceWords
from prefpairs.errors import UsageError
from prefpairs.files.inputs import Input
from prefpairs.ledger import Ledger

if TYPE_CHECKING:
    from prefpairs.targets.sdpo import DistilOptions

SDPO = "sdpo"
_WORDS = frozenset({"tokenizer", "template", "hints", "max_tokens"})


def export_traces(
    reading: PairInputWords, form: ExportWords, writing: PlaceWords, ledger: Ledger
) -> None:
    """Write the rows of traces."""
    from prefpairs.engine.distil import distil

    if reading.dialect not in ("auto", TRACES):
        raise UsageError(f"--to {SDPO} reads traces: no --from {reading.dialect}")
    if writing.out_dir is not None:
        raise UsageError(f"--to {SDPO} writes one file", "-o FILE")
    plan = replace(reading.input_plan(), dialect="auto")
    options = _options(form)
    also_read = form.references()
    also_read += [Input(path, path) for path in (form.template, form.hints) if path is not None]
    with writing.opened("export", plan, ledger, also_read=also_read) as output:
        distil(plan, options, output, ledger, allow_empty=writing.allow_empty)


def _options(form: ExportWords) -> "DistilOptions":
    from prefpairs.files.hint_table import read_hints
    from prefpairs.targets.sdpo import DistilOptions

    for field in fields(ExportWords):
        if field.name not in _WORDS and getattr(form, field.name) != field.default:
            option = field.name.replace("_", "-")
            raise UsageError(f"--{option} does not go with --to {SDPO}")
    model = form.model()
    if model is None:
        raise UsageError(f"--to {SDPO} makes tokens", "--tokenizer DIR, the folder of a model")
    path = form.template or model.template
    tokens = form.token_options(model, path)
    if path is None or tokens is None or tokens.encode is None or tokens.chat is None:
        raise UsageError(f"--to {SDPO} makes tokens", "--tokenizer DIR, the folder of a model")
    return DistilOptions(
        encode=tokens.encode,
        chat=tokens.chat,
        facts=facts_at(path),
        hints={} if form.hints is None else read_hints(form.hints),
        max_tokens=form.max_tokens,
    )
