"""prefpairs shards: the steps of a run that several machines share."""

import re

from prefpairs.cli.run_in_steps import do_steps, finish_steps, round_of, work_in
from prefpairs.cli.terminal.safe_text import plural, printable, write_stderr
from prefpairs.engine.runners.finish import is_finished
from prefpairs.engine.runners.step_plan import steps_in
from prefpairs.errors import UsageError
from prefpairs.option import REQUIRED, argument, flag, options

_FINISH = "finish"
_ROUND = re.compile(r"[0-9]{1,9}")
_SHARE = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@options
class StepOptions:
    """Which steps are done."""

    step: str = argument(
        REQUIRED,
        metavar="ROUND|finish",
        help="1: do the steps of the first round. 2, once all of those are done: the second, and "
        "so on. finish, after the last round: check the results, put them into place and print the "
        "summary.",
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
    """Do steps of a run that several machines share.

    A command with `--runner shards` plans rounds of steps and prints the commands that do them:
    round 1, round 2 and so on, then `finish`; under any scheduler, on any machine that sees the
    same files under the same names. The steps of a round may run at the same time. Steps that are
    done are skipped, and each may be killed and repeated at any time.

    The parts of the output, one after the other, have the bytes that the command gives without
    --runner. The manifest comes last.

    Memory: 40 MB and 100 to 400 bytes per candidate or pair in a step; docs/scaling.md has the
    figures of each round.

        prefpairs pair --runner shards --order key --out-dir pairs runs/*.jsonl

        # four processes at a time
        seq 0 3 | xargs -P 4 -I{} prefpairs shards 1 pairs {}/4
        seq 0 3 | xargs -P 4 -I{} prefpairs shards 2 pairs {}/4
        prefpairs shards finish pairs

        # as an array of 64 jobs under Slurm
        prefpairs shards 1 pairs $SLURM_ARRAY_TASK_ID/64
    """
    if asked.step != _FINISH and not _ROUND.fullmatch(asked.step):
        raise UsageError(f"{asked.step}: expected the number of a round", "as in 1, 2 or finish")
    if is_finished(asked.folder):
        steps_in(asked.folder).remove()  # if `finish` was killed as it did so
        if not asked.quiet:
            write_stderr(f"{printable(asked.folder)} is finished: nothing to do\n")
        return
    work = work_in(asked.folder)
    if asked.step == _FINISH:
        finish_steps(work, quiet=asked.quiet)
        return
    one = round_of(work, int(asked.step))
    done, before = do_steps(one, asked.numbers(one.steps))
    if not asked.quiet:
        skipped = f", {before:,} were done before" if before else ""
        write_stderr(f"round {one.number} ({one.word}): {plural(done, 'step')} done{skipped}\n")
