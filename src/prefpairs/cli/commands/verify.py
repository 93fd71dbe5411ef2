"""prefpairs verify: whether files are still what a manifest says."""

from prefpairs.cli.terminal.progress_bar import show_progress
from prefpairs.cli.terminal.safe_text import plural, printable, write_stderr
from prefpairs.errors import BadInput, FilesDiffer
from prefpairs.ledger import Progress
from prefpairs.option import REQUIRED, argument, options


@options
class VerifyOptions:
    """What files are compared with."""

    manifest: str = argument(
        REQUIRED, metavar="MANIFEST", help="A manifest written by `prefpairs run`."
    )


def verify(*, asked: VerifyOptions) -> None:
    """Check files against a manifest.

    Hashes the recipe, inputs and outputs again. Exit 0 if all are unchanged, 1 if one is missing,
    changed or not a regular file, or if the manifest lists none.

    Memory: constant; each file is read once.

        prefpairs verify data/manifest.json

        # train only if the data is unchanged
        prefpairs verify data/manifest.json && accelerate launch train.py
    """
    from prefpairs.engine.outputs.manifest import (
        differences,
        files_of,
        other_identity,
        read_manifest,
    )

    manifest = asked.manifest
    read = read_manifest(manifest)
    files = files_of(read)
    if not files:
        raise BadInput(manifest, "no manifest: it lists no file")
    progress = Progress()
    progress.begin_hashing(sum(file.size for _, file in files))
    with show_progress(progress):
        found = differences(manifest, read, progress.add_bytes)
    if sentence := other_identity(read):
        write_stderr(f"note: {printable(f'{manifest}: {sentence}')}\n")
    if found:
        raise FilesDiffer(manifest, found)
    write_stderr(f"{printable(manifest)}: {plural(len(files), 'file')} as they were\n")
