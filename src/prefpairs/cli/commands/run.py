"""prefpairs run: a whole pipeline out of a recipe."""

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from prefpairs.cli.terminal.summary_text import summary_of
from prefpairs.cli.write_options import TellWords, check_quarantine, check_written
from prefpairs.engine.stage_runner import sieve
from prefpairs.errors import UsageError
from prefpairs.files.file_digest import digest_file, stamp_of
from prefpairs.files.file_transaction import FileTransaction
from prefpairs.files.input_stamps import Stamp, noting
from prefpairs.files.inputs import Input
from prefpairs.files.output import open_output, write_file
from prefpairs.files.standard_output import STDOUT, refuse_stdout
from prefpairs.ledger import Ledger
from prefpairs.option import argument, flag, option, options

if TYPE_CHECKING:
    from prefpairs.cli.recipe import Recipe
    from prefpairs.cli.recipe_plan import Pipeline

_RECIPE = "The recipe"
_WRITE = "What is written"


@options
class RunWords:
    """The words about a recipe, as they were typed."""

    recipe: str = argument("recipe.toml", metavar="RECIPE.toml", help="The recipe.")
    settings: list[str] | None = option(
        None,
        "--set",
        metavar="TABLE.WORD=VALUE",
        panel=_RECIPE,
        help="Change the recipe for this run: pair.min_gap=0.3. Repeatable.",
    )
    dry_run: bool = flag(
        panel=_RECIPE, help="Show what would be read, done and written; do nothing."
    )
    depfile: str | None = option(
        None,
        metavar="FILE",
        panel=_WRITE,
        help="Write a rule for make: the manifest hangs on the recipe and on all inputs.",
    )
    keep_if_same: bool = flag(
        panel=_WRITE,
        help="Leave an output as it is, time and all, if its bytes would not change; the "
        "manifest is written anew, as a stamp for make.",
    )
    force: bool = flag(
        panel=_WRITE,
        help="Also replace and delete files in out_dir, and a manifest, that are not of this "
        "recipe.",
    )


def run(*, words: RunWords, telling: TellWords) -> None:
    """A whole pipeline out of a recipe, in one process.

    A recipe is a TOML file, recipe.toml unless named. Its tables are commands, in the order in
    which they run, and their keys are the options of those commands; `read` names the inputs,
    `write` the output. The result has the same bytes as the same commands in a pipe would write.

    manifest.json, beside the output, says what was read and written; `prefpairs verify` holds the
    files against it.

    Memory: that of the stages; texts are read again where a stage needs them (filter, --near,
    --by PATH) and when the result is written. Exit codes are those of the stages.

        prefpairs run recipe.toml

        # what it would do
        prefpairs run --dry-run

        # another gap, for this run alone
        prefpairs run recipe.toml --set pair.min_gap=0.3

        # in a Makefile, where the rule that is written knows all inputs
        data/manifest.json: recipe.toml ; prefpairs run $< --depfile data/inputs.mk
    """
    ledger = Ledger()
    with noting() as noted:
        _run(words, telling, ledger, noted)


def _run(words: RunWords, telling: TellWords, ledger: Ledger, noted: Mapping[str, Stamp]) -> None:
    """Run a recipe; `noted` are the files that are read on the way, as they were then."""
    from prefpairs.cli.manifest import refuse_strange_manifest
    from prefpairs.cli.recipe import WriteTable, read_recipe
    from prefpairs.cli.recipe_plan import outline_of, pipeline_of

    recipe = read_recipe(words.recipe, words.settings or [])
    writing = recipe.words("write", WriteTable)
    writing = replace(writing, force=writing.force or words.force)
    telling = _both(telling, writing)
    pipeline = pipeline_of(recipe, writing, ledger)
    kind = pipeline.kind
    gates = telling.gates(kind)
    _check_files(words, telling, pipeline)
    if pipeline.folder is not None:
        pipeline.folder.refuse_strangers()

    def refuse_manifest() -> None:
        if pipeline.manifest is not None and not writing.force:
            refuse_strange_manifest(pipeline.manifest, words.recipe)

    refuse_manifest()
    if words.dry_run:
        with open_output(STDOUT) as output:
            output.write(outline_of(recipe, pipeline).encode())
        return
    files = [*pipeline.outputs, *([pipeline.manifest] if pipeline.manifest else [])]
    told = ", ".join(files) or STDOUT
    hashed = pipeline.manifest is not None
    with telling.telling(kind, ledger, told, pipeline.plan.read, hashed=hashed) as transaction:
        transaction.check_last(refuse_manifest)
        before = {path: stamp_of(path) for path in _paths(words, pipeline)}
        with pipeline.opened(transaction, keep_if_same=words.keep_if_same) as outputs:
            sieve(pipeline.plan, outputs, ledger, allow_empty=telling.allow_empty)
            for gate in gates:
                gate.check(summary_of(kind, ledger))
        # What cannot be read twice is listed nowhere. What was read at once, such as a template,
        # counts as it was then.
        stamps = {
            path: noted.get(os.path.realpath(path), stamp)
            for path, stamp in before.items()
            if stamp is not None
        }
        if words.depfile is not None:
            _leave_rule(words.depfile, pipeline, stamps, transaction)
        _leave_manifest(recipe, pipeline, stamps, ledger, transaction)


def _check_files(words: RunWords, telling: TellWords, pipeline: "Pipeline") -> None:
    """Raise for files that could not be written, or whose names could not be."""
    from prefpairs.cli.manifest import for_make

    refuse_stdout("write.manifest", pipeline.manifest)
    refuse_stdout("--depfile", words.depfile)
    if words.depfile is not None and pipeline.manifest is None:
        raise UsageError("--depfile is about the manifest, and there is none", "name an output")
    extra = [telling.summary, pipeline.plan.read.quarantine, pipeline.manifest, words.depfile]
    read = [*pipeline.inputs, Input(words.recipe, words.recipe)]
    check_written(
        [*pipeline.swept, *extra], read, new=pipeline.folder.path if pipeline.folder else None
    )
    if pipeline.folder is not None:
        check_quarantine(pipeline.plan.read.quarantine, pipeline.folder.path)
    if words.depfile is not None:
        for path in (pipeline.manifest or "", *_paths(words, pipeline)):
            for_make(path)
    for path in (*_paths(words, pipeline), *pipeline.outputs):
        if pipeline.manifest is not None and not _is_text(path):
            problem = f"{path}: a manifest cannot hold a name that is not UTF-8"
            raise UsageError(problem, "rename the file")


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _paths(words: RunWords, pipeline: "Pipeline") -> list[str]:
    """The files that are read, the recipe first."""
    return [words.recipe, *(given.path for given in pipeline.inputs if not given.is_stdin)]


def _both(typed: TellWords, written: TellWords) -> TellWords:
    """What the command line says of the telling, and what the recipe does."""
    return replace(
        typed,
        summary=typed.summary or written.summary,
        require=[*(written.require or []), *(typed.require or [])],
        quiet=typed.quiet or written.quiet,
        allow_empty=typed.allow_empty or written.allow_empty,
    )


def _length(paths: list[str]) -> int:
    """How long files are together; of one that is gone something is said when it is read."""
    total = 0
    for path in paths:
        with suppress(OSError):
            total += os.path.getsize(path)
    return total


def _leave_rule(
    path: str, pipeline: "Pipeline", stamps: Mapping[str, Stamp], transaction: FileTransaction
) -> None:
    """Write the rule for make."""
    from prefpairs.cli.manifest import depfile_of

    write_file(path, depfile_of(pipeline.manifest or "", [*stamps]), transaction)


def _leave_manifest(
    recipe: "Recipe",
    pipeline: "Pipeline",
    stamps: Mapping[str, Stamp],
    ledger: Ledger,
    transaction: FileTransaction,
) -> None:
    """Write the manifest: of outputs what was written, and of inputs what was read."""
    from prefpairs.cli.manifest import Hashed, manifest_of

    if pipeline.manifest is None:
        return
    rows = {
        given.path: ledger.rows_by_input.get(given.label) for given in pipeline.plan.read.inputs
    }
    ledger.progress.begin_hashing(_length([*stamps]))
    read = [
        Hashed(path, digest_file(path, stamp, ledger.progress.add_bytes), rows.get(path))
        for path, stamp in stamps.items()
    ]
    made = [
        Hashed(path, transaction.digest_of(path), ledger.lines_written.get(name))
        for name, path in pipeline.lasting.items()
    ]
    counts = summary_of(pipeline.kind, ledger)
    manifest = manifest_of(pipeline.manifest, recipe, read, made, counts)
    write_file(pipeline.manifest, manifest, transaction)
