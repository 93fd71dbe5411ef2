"""prefpairs explain: what a reason code means."""

from prefpairs.files.output import open_output
from prefpairs.option import argument, one_of, options
from prefpairs.reasons import ALL, SWITCHABLE, TABLES


@options
class ExplainWords:
    """The code that is asked for."""

    code: str | None = argument(None, metavar="CODE", help="A code out of a summary.")


def explain(*, asked: ExplainWords) -> None:
    """Say what a reason code means; without one, list them all.

    Codes stand in summaries, behind their counts, and in the findings of `validate`.

        prefpairs explain no_score
    """
    with open_output("-") as output:
        output.write((_everything() if asked.code is None else _one(asked.code)).encode())


def _one(code: str) -> str:
    name = one_of("reason", code, *ALL)
    kept = f"\n--keep-rows {name} uses such rows all the same.\n" if name in SWITCHABLE else ""
    return f"{name}: {ALL[name]}\n{kept}"


def _everything() -> str:
    return "\n".join(
        f"{title}\n" + "".join(f"  {code:20}  {line}\n" for code, line in codes.items())
        for title, codes in TABLES.items()
    )
