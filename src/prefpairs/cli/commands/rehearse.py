"""prefpairs rehearse: real steps of the real trainer on a dataset."""

from collections.abc import Iterator
from dataclasses import asdict

from prefpairs.engine.rehearse import STEPS, Rehearsal, RehearsePlan
from prefpairs.engine.rehearse import rehearse as run
from prefpairs.errors import DoesNotTrain
from prefpairs.files.output import open_output
from prefpairs.files.standard_output import STDOUT
from prefpairs.model.json_codec import encode_line
from prefpairs.option import REQUIRED, argument, flag, one_of, option, options


@options
class RehearseOptions:
    """The dataset, and how it is trained on."""

    path: str = argument(REQUIRED, metavar="DATASET", help="The directory of a dataset, or a file.")
    to: str = option("trl", metavar="trl", help="The trainer.")
    tokenizer: str | None = option(
        None,
        metavar="DIR",
        help="A directory with a tokenizer and its chat template (default: one token per byte).",
    )
    max_length: int | None = option(
        None,
        metavar="N",
        least=1,
        help="Truncate to N tokens, as the trainer will (TRL: 1024). Default: no limit.",
    )
    json: bool = flag(help="Print the figures as a JSON object.")


def rehearse(*, asked: RehearseOptions) -> None:
    """Train on a dataset for a few steps with the real trainer.

    Runs TRL's DPO offline, on a CPU, with a small random model: it tokenizes every row and trains
    for 20 steps on up to 8 of them. A sound dataset starts at a loss of ln 2, has a gradient, loses
    no row, and is learned: the chosen side wins in more than 90 %. Otherwise the exit code is 4.

    Memory: half a gigabyte, for a few seconds. The extra `rehearse` installs torch and TRL.

        prefpairs rehearse --to trl trl-data

        # with the tokenizer of your model
        prefpairs rehearse --tokenizer my-model/ --max-length 1024 trl-data
    """
    one_of("--to", asked.to, "trl")
    plan = RehearsePlan(path=asked.path, tokenizer=asked.tokenizer, max_length=asked.max_length)
    rehearsal = run(plan)
    problems = rehearsal.problems()
    with open_output(STDOUT) as output:
        if asked.json:
            output.write(encode_line({**asdict(rehearsal), "problems": problems}))
        else:
            output.write("".join(f"{line}\n" for line in _told(rehearsal)).encode())
        if not problems:
            output.write(b"" if asked.json else b"verdict     it trains\n")
    if problems:
        raise DoesNotTrain(problems)


def _told(rehearsal: Rehearsal) -> Iterator[str]:
    """The figures as people read them; those that were not reached are left out."""
    model = f", DPO, {rehearsal.weights:,} random weights" if rehearsal.weights else ""
    yield f"{'trainer':12}{rehearsal.trainer}{model}"
    if rehearsal.trouble is not None:
        yield f"{'rows':12}{rehearsal.loaded:,} loaded"
    else:
        dropped = rehearsal.loaded - rehearsal.kept
        kept = f"{rehearsal.kept:,} kept + {dropped:,} dropped"
        yield f"{'rows':12}{rehearsal.loaded:,} loaded = {kept}"
        yield f"{'equal sides':12}{rehearsal.equal_sides:,}"
        yield f"{'first loss':12}{rehearsal.first_loss:.6f} (ln 2 is 0.693147)"
        yield f"{'gradient':12}{rehearsal.gradient:.3g}"
        yield (
            f"{'learned':12}{STEPS} steps on {rehearsal.trained:,} rows: loss "
            f"{rehearsal.last_loss:.3g}, the chosen side wins in {rehearsal.wins:.0%}"
        )
