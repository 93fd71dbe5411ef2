"""prefpairs explain: what a reason code means."""

from typing import Annotated

from typer import Argument

from prefpairs.cli.option_groups import one_of
from prefpairs.files.output import open_output
from prefpairs.reasons import ALL, SWITCHABLE, TABLES


def explain(
    code: Annotated[
        str | None, Argument(metavar="CODE", help="A code out of a summary.", show_default=False)
    ] = None,
) -> None:
    """Say what a reason code means; without one, list them all.

    Codes stand in summaries, behind their counts, and in the findings of `validate`.

        prefpairs explain no_score
    """
    with open_output("-") as output:
        output.write((_everything() if code is None else _one(code)).encode())


def _one(code: str) -> str:
    name = one_of("reason", code, *ALL)
    kept = f"\n--keep-rows {name} uses such rows all the same.\n" if name in SWITCHABLE else ""
    return f"{name}: {ALL[name]}\n{kept}"


def _everything() -> str:
    return "\n".join(
        f"{title}\n" + "".join(f"  {code:20}  {line}\n" for code, line in codes.items())
        for title, codes in TABLES.items()
    )
