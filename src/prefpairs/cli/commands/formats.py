"""prefpairs formats: what can be read, and how pairs are made."""

from prefpairs.files.output import open_output
from prefpairs.model.json_codec import encode_pretty
from prefpairs.option import option, options
from prefpairs.sources import SOURCES
from prefpairs.strategies import ALIASES, STRATEGIES
from prefpairs.targets import OF_TRACES, TARGETS


@options
class FormatsOptions:
    """What is listed."""

    schema: str | None = option(
        None, metavar="candidate|pair", help="Print the JSON Schema of a record instead."
    )


def formats(*, asked: FormatsOptions) -> None:
    """List sources, strategies, targets and record schemas.

    These are the values of --from, --strategy and --to, with a line on each.

        prefpairs formats

        # the JSON Schema of a pair
        prefpairs formats --schema pair
    """
    with open_output("-") as output:
        output.write(_listing().encode() if asked.schema is None else _schema(asked.schema))


def _schema(record: str) -> bytes:
    from prefpairs.model.schema import MODELS, json_schema
    from prefpairs.option import one_of

    return encode_pretty(json_schema(one_of("record", record, *MODELS)))


def _listing() -> str:
    aliases = [f"{alias} is another name of {name}" for alias, name in ALIASES.items()]
    return (
        "Sources (--from)\n"
        + "".join(f"  {name:14}  {line}\n" for name, line in SOURCES.items())
        + "\nStrategies (--strategy)\n"
        + "".join(f"  {name:14}  {line}\n" for name, line in STRATEGIES.items())
        + "".join(f"  {'':14}  {line}\n" for line in aliases)
        + "\nTargets (export --to)\n"
        + "".join(f"  {name:14}  {line}\n" for name, line in {**TARGETS, **OF_TRACES}.items())
        + "\nRecords (formats --schema)\n"
        + "  candidate       one scored answer to one prompt, what `extract` writes\n"
        + "  pair            two answers to one prompt, what `pair` writes\n"
    )
