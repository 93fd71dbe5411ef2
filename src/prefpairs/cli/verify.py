"""prefpairs verify: whether files are still what a manifest says."""

from typing import Annotated

from typer import Argument

from prefpairs.cli.wording import plural, say, visible
from prefpairs.errors import FilesDiffer


def verify(
    manifest: Annotated[str, Argument(metavar="MANIFEST", help="What `prefpairs run` wrote.")],
) -> None:
    """Whether files are still what a manifest says.

    Recipe, inputs and outputs are hashed again. Exit 0 if all are what they were, 1 if one is
    missing or differs.

    Memory: constant; each file is read once.

        prefpairs verify data/manifest.json

        # train on what was made, or not at all
        prefpairs verify data/manifest.json && accelerate launch train.py
    """
    from prefpairs.cli.manifest import differences, read_manifest

    read = read_manifest(manifest)
    if found := differences(manifest, read):
        raise FilesDiffer(manifest, found)
    files = len(read.inputs) + len(read.outputs) + (read.recipe is not None)
    say(f"{visible(manifest)}: {plural(files, 'file')} as they were\n")
