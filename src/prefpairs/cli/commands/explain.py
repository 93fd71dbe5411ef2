"""prefpairs explain CODE: what a reason code means, which says why rows or pairs were dropped."""

from prefpairs.files.output import open_output
from prefpairs.option import argument, one_of, options
from prefpairs.reasons import ALL, SWITCHABLE, TABLES


@options
class ExplainOptions:
    """The code that is asked for."""

    code: str | None = argument(None, metavar="CODE", help="A reason code from a summary.")


def explain(*, asked: ExplainOptions) -> None:
    """Explain a reason code; without one, list all codes.

    Codes appear in summaries, after their counts, and in the findings of `validate`.

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
