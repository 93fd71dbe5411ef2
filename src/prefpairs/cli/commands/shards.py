"""prefpairs shards: the steps of a run that several machines share."""

import re

from prefpairs.cli.run_in_steps import do_steps, finish_steps, number_of_steps, work_in
from prefpairs.cli.terminal.safe_text import plural, printable, write_stderr
from prefpairs.engine.runners.finish import is_finished, steps_in
from prefpairs.errors import UsageError
from prefpairs.option import REQUIRED, argument, flag, one_of, options

_SHARE = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@options
class StepOptions:
    """Which steps are done."""

    step: str = argument(
        REQUIRED,
        metavar="map|reduce|finish",
        help="map: read the input. reduce, once all of it was read: write the parts of the output. "
        "finish, once all are written: check them, put them into place and print the summary.",
    )
    folder: str = argument(
        REQUIRED, metavar="DIR", help="The --out-dir of a command with --runner shards."
    )
    share: str = argument(
        "0/1",
        metavar="[I/N]",
        help="Do only every N-th step, from step I on (I < N); by default all. With finish, "
        "nothing is to be shared.",
    )
    quiet: bool = flag("-q", "--quiet", panel="Output", help="Print only errors.")

    def numbers(self, steps: int) -> range:
        """The numbers of the steps of a share."""
        found = _SHARE.fullmatch(self.share)
        first, every = (int(found[1]), int(found[2])) if found else (0, 0)
        if first >= every:
            problem = f"{self.share}: expected a share of the steps"
            raise UsageError(problem, "as in 0/4, 1/4, 2/4 and 3/4")
        return range(first, steps, every)


def shards(*, asked: StepOptions) -> None:
    """Do a step of a run that several machines share.

    A command with `--runner shards` plans steps and leaves them in its --out-dir. `map`, `reduce`
    and `finish` do them, in this order: under any scheduler, on any machine that sees the same
    files under the same names. Steps that are done are skipped, and each may be killed and
    repeated at any time.

    The parts of the output, one after the other, have the bytes that the command gives without
    --runner. The manifest comes last.

    Memory: of map, about 100 bytes per candidate in a range of the input, and 180 per candidate
    in the largest part of it; of reduce, about 190 bytes per candidate in a part.

        prefpairs pair --runner shards --order key --out-dir pairs runs/*.jsonl

        # four processes at a time
        seq 0 3 | xargs -P 4 -I{} prefpairs shards map pairs {}/4
        seq 0 3 | xargs -P 4 -I{} prefpairs shards reduce pairs {}/4
        prefpairs shards finish pairs

        # as an array of 64 jobs under Slurm
        prefpairs shards map pairs $SLURM_ARRAY_TASK_ID/64
    """
    kind = one_of("step", asked.step, "map", "reduce", "finish")
    if is_finished(asked.folder):
        steps_in(asked.folder).remove()  # if `finish` was killed as it did so
        if not asked.quiet:
            write_stderr(f"{printable(asked.folder)} is finished: nothing to do\n")
        return
    work = work_in(asked.folder)
    if kind == "finish":
        finish_steps(work, quiet=asked.quiet)
        return
    done, before = do_steps(work, kind, asked.numbers(number_of_steps(work, kind)))
    if not asked.quiet:
        skipped = f", {before:,} were done before" if before else ""
        write_stderr(f"{kind}: {plural(done, 'step')} done{skipped}\n")
