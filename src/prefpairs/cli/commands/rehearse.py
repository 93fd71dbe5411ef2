"""prefpairs rehearse: real steps of the real trainer on a dataset."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated

from typer import Argument, Option

from prefpairs.cli.option_groups import FLAG, command_of, one_of
from prefpairs.engine.rehearse import STEPS, Rehearsal, RehearsePlan
from prefpairs.engine.rehearse import rehearse as run
from prefpairs.errors import DoesNotTrain
from prefpairs.files.output import STDOUT, open_output
from prefpairs.model.json_codec import encode_line


@command_of
def rehearse(
    *,
    path: Annotated[
        str,
        Argument(metavar="DATASET", help="The folder of a dataset, or a file.", show_default=False),
    ],
    to: Annotated[str, Option(metavar="trl", help="The trainer.")] = "trl",
    tokenizer: Annotated[
        str | None,
        Option(
            metavar="DIR",
            help="A folder with a tokenizer and its chat template, instead of one token a byte.",
        ),
    ] = None,
    max_length: Annotated[
        int | None,
        Option(
            min=1,
            metavar="N",
            help="Cut to N tokens, as the trainer will (TRL: 1024). Default: no cut.",
        ),
    ] = None,
    json: Annotated[
        bool, Option("--json", metavar=FLAG, help="The figures as a JSON object.")
    ] = False,
) -> None:
    """Real steps of the real trainer on a dataset, offline, on a CPU.

    DPO of TRL, with a small random model, tokenizes every row and takes 20 steps on up to 8 of
    them. A sound dataset begins at ln 2, has a gradient, loses no row, and is learned: the chosen
    side wins in more than 90 %. Exit code 4 where it is not so.

    Memory: half a gigabyte, for some seconds. The extra `rehearse` installs torch and TRL.

        prefpairs rehearse --to trl trl-data

        # with the tokenizer of your model
        prefpairs rehearse --tokenizer my-model/ --max-length 1024 trl-data
    """
    one_of("--to", to, "trl")
    rehearsal = run(RehearsePlan(path=path, tokenizer=tokenizer, max_length=max_length))
    problems = rehearsal.problems()
    with open_output(STDOUT) as output:
        if json:
            output.write(encode_line({**asdict(rehearsal), "problems": problems}))
        else:
            output.write("".join(f"{line}\n" for line in _told(rehearsal)).encode())
        if not problems:
            output.write(b"" if json else b"verdict     it trains\n")
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
