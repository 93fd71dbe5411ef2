"""Recipes: a pipeline in a TOML file, in the option words of the command line.

Each table is a command, and its keys are that command's options. The stages run in the order in
which they stand; [read] says what is read, and [write] what is written.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from io import BytesIO, TextIOWrapper
from typing import Annotated, Any, NamedTuple, Protocol, TypeVar, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from typer import Option
from typer.models import OptionInfo

from prefpairs.cli.dedupe import DedupeWords
from prefpairs.cli.dialect import PairInputWords
from prefpairs.cli.filter import FilterWords
from prefpairs.cli.reading import AsideWords, ReadWords
from prefpairs.cli.sample import SampleWords
from prefpairs.cli.words import option_names, word_group
from prefpairs.cli.writing import Force, TellWords
from prefpairs.errors import UnknownWord, UsageError
from prefpairs.files.inputs import Input
from prefpairs.files.noted import read_noted
from prefpairs.sieves.protocol import Sieve

_OTHER_NAMES = {"source": "from", "reason": "keep_rows"}
"""What errors call the value of a word, where that is not its name."""


class SieveWords(Protocol):
    """The words of a stage that passes pairs on."""

    def references(self) -> list[Input]:
        """The files that it reads besides the pairs."""
        ...

    def sieve(self) -> Sieve:
        """The sieve that the words ask for."""
        ...


SIEVES: dict[str, type[SieveWords]] = {
    "dedupe": DedupeWords,
    "filter": FilterWords,
    "sample": SampleWords,
}
STAGES = ("pair", *SIEVES, "split", "export")
TABLES = ("read", *STAGES, "write")

_HEADER = re.compile(r"\s*\[\s*([\w-]+)\s*\]")
_LONG_TEXT = re.compile(r"\"{3}|'{3}")
_KEY = re.compile(r"\s*([\w-]+)\s*=")

W = TypeVar("W")


@word_group
class ReadTable(ReadWords, AsideWords):
    """What [read] may say where [pair] follows."""


@word_group
class InputTable(PairInputWords, AsideWords):
    """What [read] may say where the inputs are pairs already."""


@word_group
class WriteTable(TellWords):
    """What [write] may say."""

    output: Annotated[str | None, Option()] = None
    out_dir: Annotated[str | None, Option()] = None
    manifest: Annotated[str | None, Option()] = None
    force: Force = False


@dataclass(slots=True)
class Recipe:
    """The tables of a recipe, in order, and where each of their words stands."""

    path: str
    tables: dict[str, dict[str, Any]]
    lines: dict[tuple[str, str], str] = field(default_factory=dict)
    settled: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The words of each table that was asked for, those that nobody wrote included."""

    @property
    def stages(self) -> list[str]:
        """The stages, in the order in which they run."""
        return [name for name in self.tables if name in STAGES]

    def words(self, table: str, kind: type[W]) -> W:
        """The words of a table, each held to its type."""
        given = self.tables.get(table, {})
        known = _words_of(kind)
        for key in given:
            if key not in known:
                unknown = UnknownWord(f"word in [{table}]", key, list(known))
                raise unknown.at(self._place(table, key))
        try:
            model = _model_of(kind.__name__, known).model_validate(
                {key: _listed(known[key], value) for key, value in given.items()}
            )
        except ValidationError as error:
            raise self._wrong_value(table, error) from None
        values = {key: getattr(model, key) for key in known}
        for key, value in values.items():
            if _holds_nul(value):
                problem = f"{table}.{key} has a NUL in it, which names cannot have"
                raise UsageError(problem).at(self._place(table, key))
        self.settled[table] = {key: value for key, value in values.items() if value is not None}
        return kind(**{known[key].field: value for key, value in values.items()})

    @contextmanager
    def telling_place(self, table: str) -> Iterator[None]:
        """Give the errors of a table's words the line where they stand."""
        try:
            yield
        except UsageError as error:
            if error.place is None:
                named = error.what.lstrip("-") if isinstance(error, UnknownWord) else ""
                error.at(self._place(table, _spelled(_OTHER_NAMES.get(named, named))))
            raise

    def _place(self, table: str, key: str) -> str:
        return self.lines.get((table, key)) or self.lines.get((table, "")) or self.path

    def _wrong_value(self, table: str, error: ValidationError) -> UsageError:
        first = error.errors()[0]
        key = str(first["loc"][0])
        given = self.tables[table][key]
        problem = f"{table}.{key} is {given!r}: {first['msg'][:1].lower()}{first['msg'][1:]}"
        return UsageError(problem).at(self._place(table, key))


def read_recipe(path: str, settings: Sequence[str]) -> Recipe:
    """The recipe of a file, with what --set changes in it."""
    try:
        text = TextIOWrapper(BytesIO(read_noted(path)), "utf-8-sig").read()
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8") from None
    try:
        parsed = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and lists that are too long
        raise UsageError(f"{path}: {error}", "recipes are written in TOML") from None
    recipe = Recipe(path, {}, _lines_of(text, path))
    for name, table in parsed.items():
        _check_table(recipe, name, table)
        recipe.tables[name] = {_spelled(key): value for key, value in table.items()}
        if len(recipe.tables[name]) < len(table):
            raise UsageError(f"{path}: [{name}] has a word twice, once with - and once with _")
    for setting in settings:
        _set(recipe, setting)
    _check_order(recipe)
    return recipe


def _check_table(recipe: Recipe, name: str, table: Any) -> None:
    place = recipe.lines.get((name, "")) or recipe.lines.get(("", name)) or recipe.path
    if name not in TABLES:
        raise UnknownWord("table", name, TABLES).at(place)
    if not isinstance(table, dict):
        error = UsageError(f"{name} is no table", f"write [{name}] on a line of its own")
        raise error.at(place)


def _check_order(recipe: Recipe) -> None:
    """`pair` makes what the others read; `split` and then `export` are the end."""
    stages = recipe.stages
    ends = [name for name in ("split", "export") if name in stages]
    if "pair" in stages[1:]:
        raise UsageError("[pair] must be the first stage").at(recipe.lines.get(("pair", "")))
    for name, place in zip(reversed(ends), (-1, -2), strict=False):
        if stages[place] != name:
            where = "last stage" if place == -1 else "last stage but [export]"
            raise UsageError(f"[{name}] must be the {where}").at(recipe.lines.get((name, "")))
    if not stages:
        raise UsageError(f"{recipe.path} has no stage", f"one of {', '.join(STAGES)}")


def _set(recipe: Recipe, setting: str) -> None:
    """Change one value, as in pair.min_gap=0.3."""
    name, equals, value = setting.partition("=")
    table, dot, key = name.strip().partition(".")
    if not (equals and dot and key):
        raise UsageError(f"--set {setting}: expected TABLE.WORD=VALUE", "--set pair.min_gap=0.3")
    if table not in recipe.tables and table not in ("read", "write"):
        raise UnknownWord("table for --set", table, [*recipe.tables])
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        parsed = value.strip()
    recipe.tables.setdefault(table, {})[_spelled(key)] = parsed
    recipe.lines[table, _spelled(key)] = f"--set {setting}"


def _lines_of(text: str, path: str) -> dict[tuple[str, str], str]:
    """Where each table and each of its words stands."""
    lines: dict[tuple[str, str], str] = {}
    table = ""
    within = False
    for number, line in enumerate(text.split("\n"), 1):
        before, within = within, within ^ (len(_LONG_TEXT.findall(line)) % 2 == 1)
        if before:  # in the middle of a text of several lines
            continue
        if header := _HEADER.match(line):
            table = header[1]
            lines.setdefault((table, ""), f"{path}:{number}")
        elif key := _KEY.match(line):
            lines.setdefault((table, _spelled(key[1])), f"{path}:{number}")
    return lines


def _spelled(word: str) -> str:
    return word.replace("-", "_")


class _Word(NamedTuple):
    """One word of a table: the field that it stands for, and what typer knows of it."""

    field: str
    annotation: Any
    default: Any
    least: float | None
    most: float | None


def _words_of(kind: type) -> dict[str, _Word]:
    """The words of a command, as they are typed: `from` of --from, `limit` of -n and --limit."""
    hints = get_type_hints(kind, include_extras=True)
    words = {}
    for given in fields(kind):
        annotated = hints[given.name]
        typer_words = annotated.__metadata__[0]
        names, least, most = [given.name], None, None
        if isinstance(typer_words, OptionInfo):
            names = option_names(given.name, typer_words)
            least, most = typer_words.min, typer_words.max
        key = next((name for name in names if name.startswith("--")), given.name)
        words[_spelled(key.lstrip("-"))] = _Word(
            given.name, annotated.__origin__, given.default, least, most
        )
    return words


def _model_of(name: str, words: Mapping[str, _Word]) -> type[BaseModel]:
    """The types of a command's options, as pydantic holds values to them."""
    models: dict[str, Any] = {
        key: (word.annotation, Field(word.default, ge=word.least, le=word.most))
        for key, word in words.items()
    }
    return create_model(name, __config__=ConfigDict(strict=True), **models)


def _holds_nul(value: Any) -> bool:
    """Whether a text, or one of a list, holds a NUL: the file system knows no such names."""
    texts = value if isinstance(value, list) else [value]
    return any(isinstance(text, str) and "\0" in text for text in texts)


def _listed(word: _Word, value: Any) -> Any:
    """A list of one where an option that can be repeated is given once."""
    return [value] if "list" in str(word.annotation) and isinstance(value, str) else value
