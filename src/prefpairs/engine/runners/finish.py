"""The last step: the results take their place, and a manifest says that they are complete."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from shlex import quote
from typing import Any

import msgspec

from prefpairs import __version__
from prefpairs.engine.outputs.manifest import (
    FileModel,
    ManifestModel,
    read_manifest,
    refuse_other_manifest,
    tables_told,
)
from prefpairs.engine.outputs.overwrite_guard import is_row, is_signed, refuse_strangers
from prefpairs.engine.outputs.required_counts import read_gates
from prefpairs.engine.runners.count_steps import count_all
from prefpairs.engine.runners.index_candidates import bad_rows_name
from prefpairs.engine.runners.phases import ROWS, step_name
from prefpairs.engine.runners.step_output import Written
from prefpairs.engine.runners.step_plan import MANIFEST, WORK, Stamped, Work, steps_in
from prefpairs.errors import BadInput, FileError, PrefpairsError, UsageError
from prefpairs.files.file_stamps import digest_file
from prefpairs.files.file_system import is_file
from prefpairs.files.output import open_output, write_file
from prefpairs.files.work_folder import names_in, remove_file
from prefpairs.ledger import Ledger
from prefpairs.model.identity import IDENTITY_VERSION
from prefpairs.model.json_codec import encode_pretty
from prefpairs.option import options_in
from prefpairs.plan import Plan

_NOT_COUNTED = ("identity", "inputs", "passed_over", "notes")
_MOST_NAMES = 3
_ELSEWHERE = "name another directory; --force replaces it"
_PLACED = "placed.json"
_PART = re.compile(r"[a-z]+-[0-9]+-of-[0-9]+\.jsonl")

Counts = Callable[[], Mapping[str, Any]]
"""The summary of the run, from the ledger of the run."""


def finish(work: Work, ledger: Ledger, counts: Counts) -> None:
    """Account for all that was read, and put the results into place."""
    write = work.plan.write
    try:
        written = count_all(work, ledger)
        for gate in read_gates(write.require or [], dict(counts())):
            gate.check(dict(counts()))
    except PrefpairsError:
        if write.summary is not None:
            with suppress(FileError):  # it must not hide why the run failed
                write_file(write.summary, encode_pretty(counts()))
        raise
    _replace_results(work, written)
    _join_bad_rows(work)
    manifest = _manifest(work, [file for _, file in written], counts())
    write_file(os.path.join(work.results, MANIFEST), manifest)
    if write.summary is not None:
        write_file(write.summary, encode_pretty(counts()))
    steps_in(work.results).remove()


def is_finished(results: str) -> bool:
    """Whether a folder has results, and no steps that are still to be done."""
    return WORK not in names_in(results) and is_file(os.path.join(results, MANIFEST))


def check_folder(plan: Plan) -> None:
    """Raise if the results would be among files that no run wrote, or replace what is read."""
    folder = plan.write.out_dir
    assert folder is not None
    inputs = {os.path.realpath(given.path) for given in plan.read.inputs}
    for name in names_in(folder):
        if _PART.fullmatch(name) and os.path.realpath(os.path.join(folder, name)) in inputs:
            problem = f"--out-dir {folder}: its {name} is an input, which the results would replace"
            raise UsageError(problem, "name another directory")
    if plan.write.force:
        return
    recipe = None if plan.manifest is None else plan.manifest.recipe
    refuse_other_manifest(os.path.join(folder, MANIFEST), recipe, _ELSEWHERE)
    placed = _placed(folder)
    listed = [] if placed else _outputs(folder)
    ours = {WORK, os.path.basename(steps_in(folder).removed), MANIFEST, *listed, *placed}
    strange = [name for name in names_in(folder) if name not in ours]
    if strange:
        names = ", ".join(strange[:_MOST_NAMES]) + (", ..." if len(strange) > _MOST_NAMES else "")
        problem = f"--out-dir {folder}: prefpairs did not write what is in it ({names})"
        raise UsageError(problem, "name a new directory, or leave those files in it with --force")
    refuse_strangers(folder, dict.fromkeys(listed, _shows_that_it_is_ours))


def check_no_finish_is_open(plan: Plan) -> None:
    """Raise if another run has put only some of its results into the folder."""
    folder = plan.write.out_dir
    assert folder is not None
    if _placed(folder) and not plan.write.force:
        problem = f"--out-dir {folder}: another run has put only some of its results there"
        raise UsageError(problem, f"`prefpairs shards finish {quote(folder)}` completes it")


def _shows_that_it_is_ours(begin: bytes) -> bool:
    return is_row(begin) or is_signed(begin)


def _outputs(folder: str) -> list[str]:
    """What the manifest of an earlier run lists."""
    with suppress(BadInput, FileError):
        listed = read_manifest(os.path.join(folder, MANIFEST)).outputs
        return [file.path for file in listed if os.path.basename(file.path) == file.path]
    return []


def _placed(folder: str) -> list[str]:
    """The results that a call that did not end has begun to replace, and those it puts there."""
    content = steps_in(folder).read(_PLACED)
    return [] if content is None else msgspec.json.decode(content, type=list[str])


def _replace_results(work: Work, written: Sequence[tuple[str, Written]]) -> None:
    """Move all parts to their place, and remove those of an earlier run.

    What an earlier run wrote is noted first: a call that is killed leaves no manifest to tell.
    """
    folder = work.results
    names = {file.name for _, file in written}
    placed = _placed(folder)
    if not placed:
        check_folder(work.plan)
        placed = sorted({*_outputs(folder), *names})
        steps_in(folder).write(_PLACED, msgspec.json.encode(placed))
    remove_file(os.path.join(folder, MANIFEST))
    for name in {*placed} - names:
        remove_file(os.path.join(folder, name))
    for step, file in written:
        path = os.path.join(folder, file.name)
        work.folder.move(f"{step}/{file.name}", path)
        if not is_file(path) or os.path.getsize(path) != file.size:
            raise FileError(path, "it is not what its step wrote: another program changed it")


def _join_bad_rows(work: Work) -> None:
    """Write the bad rows of all pieces to the file that --quarantine names."""
    path = work.plan.read.quarantine
    if path is None:
        return
    with open_output(path, work.plan.read.inputs) as output:
        first = work.phases[0]
        reading = first.last if first.kind == ROWS else first.first
        for step, pieces in enumerate(work.steps.pieces):
            for number in range(len(pieces)):
                name = f"{step_name(reading, step)}/{bad_rows_name(number)}"
                output.write(work.folder.read(name) or b"")


def _options(group: Any) -> dict[str, Any]:
    return {known.key: getattr(group, known.field) for known in options_in(group)}


def _stages(plan: Plan) -> dict[str, dict[str, Any]]:
    """What was done: the tables of a recipe, or the options of each stage."""
    if plan.manifest is not None:
        return tables_told(plan.manifest.tables)
    stages: dict[str, dict[str, Any]] = {}
    if plan.pair is not None:
        stages["pair"] = _options(plan.pair.options)
    for stage in plan.stages:
        stages[stage.name] = _options(stage)
    if plan.split is not None:
        stages[plan.split.name] = _options(plan.split)
    if plan.export is not None:
        stages["export"] = {"to": plan.export.target.name, **_options(plan.export.options)}
    return stages


def _manifest(work: Work, written: Sequence[Written], counts: Mapping[str, Any]) -> bytes:
    plan, folder = work.plan, os.path.realpath(work.results)

    def seen(stamped: Stamped) -> FileModel:
        path = os.path.relpath(os.path.realpath(stamped.path), folder)
        return FileModel(path=path, size=stamped.size)

    recipe = None
    if plan.manifest is not None:
        path = plan.manifest.recipe
        size, sha256 = digest_file(path)
        seen_from = os.path.relpath(os.path.realpath(path), folder)
        recipe = FileModel(path=seen_from, size=size, sha256=sha256)
    model = ManifestModel(
        manifest=1,
        prefpairs=__version__,
        identity=IDENTITY_VERSION,
        recipe=recipe,
        stages=_stages(plan),
        inputs=[*map(seen, work.steps.inputs)],
        outputs=[
            FileModel(path=file.name, size=file.size, sha256=file.sha256, records=file.records)
            for file in written
        ],
        counts={name: value for name, value in counts.items() if name not in _NOT_COUNTED},
    )
    return encode_pretty(model.model_dump(exclude_none=True))
