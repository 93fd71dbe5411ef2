"""Recipes: a pipeline in a TOML file, with the options of the command line.

Each table is a command, and its keys are that command's options. The steps run in the order of
their tables; [read] says what is read, and [write] what is written. Errors name the line.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BytesIO, TextIOWrapper
from typing import Any, NamedTuple, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from prefpairs.errors import UnknownWord, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.files.file_stamps import read_small_input
from prefpairs.option import Option, filled, options_in
from prefpairs.plan import ReadPlan
from prefpairs.plan.export_plan import ForTarget, ToTargetOrPairs
from prefpairs.plan.input_plan import TempDir
from prefpairs.plan.write_plan import WriteRecipe
from prefpairs.stages.base import Stage
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split
from prefpairs.strategies.options import PairOptions
from prefpairs.submit.submit_options import SubmitOptions, flattened
from prefpairs.targets.export_options import ExportOptions, TraceOptions

_OTHER_NAMES = {"source": "from", "reason": "keep_rows"}
"""What errors call the value of a word, where that is not its name."""


SUBMIT = "submit"
"""The last table: the dataset goes to a training service once it is written."""

STAGES: dict[str, type[Stage]] = {
    "dedupe": Dedupe,
    "filter": Filter,
    "sample": Sample,
}
GROUPS: dict[str, tuple[type, ...]] = {
    "read": (ReadPlan, ReadOptions, TempDir),
    "pair": (PairOptions,),
    **{name: (stage,) for name, stage in STAGES.items()},
    "split": (Split, ForTarget, ExportOptions),
    "export": (ToTargetOrPairs, ExportOptions, TraceOptions),
    "write": (WriteRecipe,),
    SUBMIT: (SubmitOptions,),
}
"""The options of each table."""

STEPS = ("extract", "pair", *STAGES, "split", "export")
TABLES = ("read", *STEPS, SUBMIT, "write")

G = TypeVar("G")


def named(table: str, key: str) -> str:
    """A key in errors; the options of a file without tables have no table."""
    return f"{table}.{key}" if table else key


def _keys_of(kinds: Sequence[type]) -> set[str]:
    """The keys of the options of some groups."""
    return {option.key for kind in kinds for option in options_in(kind)}


@dataclass(slots=True)
class Recipe:
    """The tables of a recipe, in order, and the line of each of their keys."""

    path: str
    tables: dict[str, dict[str, Any]]
    lines: dict[tuple[str, str], str] = field(default_factory=dict)
    settled: dict[str, dict[str, Any]] = field(default_factory=dict)
    """The values of each table that was used, defaults included."""

    @property
    def steps(self) -> list[str]:
        """The steps, in the order in which they run."""
        return [name for name in self.tables if name in STEPS]

    def group(self, table: str, kind: type[G]) -> G:
        """The options of a table, as the group that they belong to."""
        return cast("G", self.groups(table, kind)[0])

    def groups(self, table: str, *kinds: type) -> list[Any]:
        """The options of a table, as the groups that they belong to."""
        given = self.tables.get(table, {})
        known = {option.key: option for kind in kinds for option in options_in(kind)}
        for key in given:
            if key not in known:
                raise self._unknown(table, key, list(known))
        try:
            model = _model_of(table, known).model_validate(
                {key: _as_typed(known[key], value) for key, value in given.items()}
            )
        except ValidationError as error:
            raise self._wrong_value(table, error) from None
        values = {key: getattr(model, key) for key in known}
        for key, value in values.items():
            self._check_value(table, key, known[key], value)
        self.settled[table] = {key: value for key, value in values.items() if value is not None}
        typed = {known[key].field: value for key, value in values.items()}
        with self.telling_place(table):
            return [filled(kind, typed) for kind in kinds]

    def _unknown(self, table: str, key: str, known: Sequence[str]) -> UsageError:
        """The error for a key that a table does not have, but perhaps another one."""
        if not table:
            return UnknownWord("option", key, known).at(self._place(table, key))
        owners = [name for name, kinds in GROUPS.items() if key in _keys_of(kinds)]
        if not owners:
            return UnknownWord(f"word in [{table}]", key, known).at(self._place(table, key))
        where = f"{key} belongs in [{owners[0]}]"
        if owners[0] == table:
            where = f"{key} is for rollouts: it goes with [pair] or [extract]"
        return UsageError(f"unknown word in [{table}]: {key}", where).at(self._place(table, key))

    def _check_value(self, table: str, key: str, option: Option, value: Any) -> None:
        """Raise for a value that no option can have."""
        name = named(table, key)
        for one in value if isinstance(value, list) else [value]:
            try:
                option.check(one, name)
            except UsageError as error:
                error.at(self._place(table, key)).hint = None
                raise
            if isinstance(one, str) and "\0" in one:
                problem = f"{name} has a NUL in it, which names cannot have"
                raise UsageError(problem).at(self._place(table, key))

    @contextmanager
    def telling_place(self, table: str) -> Iterator[None]:
        """Add the line to errors about the keys of a table."""
        try:
            yield
        except UsageError as error:
            if error.place is None:
                named = error.what.lstrip("-") if isinstance(error, UnknownWord) else ""
                error.at(self._place(table, spelled(_OTHER_NAMES.get(named, named))))
            raise

    def _place(self, table: str, key: str) -> str:
        return self.lines.get((table, key)) or self.lines.get((table, "")) or self.path

    def _wrong_value(self, table: str, error: ValidationError) -> UsageError:
        first = error.errors()[0]
        key = str(first["loc"][0])
        given = self.tables[table][key]
        told = f"{first['msg'][:1].lower()}{first['msg'][1:]}"
        problem = f"{named(table, key)} is {given!r}: {told}"
        return UsageError(problem).at(self._place(table, key))


def read_recipe(path: str, settings: Sequence[str]) -> Recipe:
    """The recipe of a file, with what --set changes in it."""
    from prefpairs.cli.submit_config import is_nat_config, nat_recipe

    recipe = Recipe(path, nat_recipe(path)) if is_nat_config(path) else _read_toml(path)
    told: dict[tuple[str, str], str] = {}
    for setting in settings:
        changed = _set(recipe, setting)
        if changed in told:
            raise given_twice(f"--set {'.'.join(changed)}", told[changed], setting)
        told[changed] = setting
    _check_order(recipe)
    return recipe


def _read_toml(path: str) -> Recipe:
    """The tables of a file and the lines of their words."""
    try:
        text = TextIOWrapper(BytesIO(read_small_input(path)), "utf-8-sig").read()
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8") from None
    try:
        parsed = tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers and lists that are too long
        refuse_twice(text, path)
        raise UsageError(f"{path}: {error}", "recipes are written in TOML") from None
    recipe = Recipe(path, {}, lines_of(text, path))
    for name, table in parsed.items():
        _check_table(recipe, name, table)
        words: dict[str, Any] = {}
        recipe.tables[name] = words
        with recipe.telling_place(name):
            given = flattened(table) if name == SUBMIT else table
        for key, value in given.items():
            if spelled(key) in words:
                place = f"{name}.{spelled(key)}"
                raise given_twice(place, repr(words[spelled(key)]), repr(value)).at(path)
            words[spelled(key)] = value
    return recipe


def _check_table(recipe: Recipe, name: str, table: Any) -> None:
    place = recipe.lines.get((name, "")) or recipe.lines.get(("", name)) or recipe.path
    if name not in TABLES:
        raise UnknownWord("table", name, TABLES).at(place)
    if not isinstance(table, dict):
        error = UsageError(f"{name} is no table", f"write [{name}] on a line of its own")
        raise error.at(place)


def _check_order(recipe: Recipe) -> None:
    """`extract` is alone, `pair` makes what the others read, `split` and `export` are the end."""
    steps = recipe.steps
    if not steps:
        raise UsageError(f"{recipe.path} has no stage", f"one of {', '.join(STEPS)}")
    if "extract" in steps and len(steps) > 1:
        problem = "[extract] writes candidates: no other stage goes with it"
        raise UsageError(problem).at(recipe.lines.get(("extract", "")))
    ends = [name for name in ("split", "export") if name in steps]
    if "pair" in steps[1:]:
        raise UsageError("[pair] must be the first stage").at(recipe.lines.get(("pair", "")))
    for name, place in zip(reversed(ends), (-1, -2), strict=False):
        if steps[place] != name:
            where = "last stage" if place == -1 else "last stage but [export]"
            raise UsageError(f"[{name}] must be the {where}").at(recipe.lines.get((name, "")))
    after = [name for name in recipe.tables if name in (*STEPS, SUBMIT)]
    if SUBMIT in after and (after[-1] != SUBMIT or after[-2] != "export"):
        raise UsageError(f"[{SUBMIT}] must follow [export]").at(recipe.lines.get((SUBMIT, "")))


def _set(recipe: Recipe, setting: str) -> tuple[str, str]:
    """Change one value, as in pair.min_gap=0.3; the result is its table and its word."""
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
    place = table, spelled(key)
    recipe.tables.setdefault(table, {})[place[1]] = parsed
    recipe.lines[place] = f"--set {setting}"
    return place


def _model_of(name: str, known: Mapping[str, Option]) -> type[BaseModel]:
    """The types of options, as pydantic holds values to them."""
    models: dict[str, Any] = {
        key: (option.type_typed, Field(option.default_typed, ge=option.least, le=option.most))
        for key, option in known.items()
    }
    return create_model(name, __config__=ConfigDict(strict=True), **models)


def _as_typed(option: Option, value: Any) -> Any:
    """A list of one where an option that can be repeated is given once, and words for booleans."""
    if option.convert is not None and isinstance(value, bool):
        return str(value).lower()
    return [value] if option.repeated and isinstance(value, str) else value


_HEADER = re.compile(r"\s*\[\s*([\w-]+)\s*\]")
_LONG_TEXT = re.compile(r"\"{3}|'{3}")
_KEY = re.compile(r"\s*([\w-]+)\s*=")


def spelled(word: str) -> str:
    """A word as a key: `-` and `_` are alike."""
    return word.replace("-", "_")


def given_twice(place: str, one: str, other: str) -> UsageError:
    """The error for a word with two values."""
    return UsageError(f"{place} is given twice: {one} and {other}", "give it once")


class _Line(NamedTuple):
    """A line of a recipe that begins a table, or gives a word of one its value."""

    number: int
    table: str
    key: str
    value: str


def _lines_in(text: str) -> Iterator[_Line]:
    """The lines that begin tables (without a key), and those that give words their values."""
    table = ""
    within = False
    for number, line in enumerate(text.split("\n"), 1):
        before, within = within, within ^ (len(_LONG_TEXT.findall(line)) % 2 == 1)
        if before:  # in the middle of a text of several lines
            continue
        if header := _HEADER.match(line):
            table = header[1]
            yield _Line(number, table, "", "")
        elif key := _KEY.match(line):
            yield _Line(number, table, spelled(key[1]), line[key.end() :].strip())


def lines_of(text: str, path: str) -> dict[tuple[str, str], str]:
    """The line of each table and of each of its keys."""
    lines: dict[tuple[str, str], str] = {}
    for line in _lines_in(text):
        lines.setdefault((line.table, line.key), f"{path}:{line.number}")
    return lines


def refuse_twice(text: str, path: str) -> None:
    """Raise for a word that has two values; TOML itself does not say what they are."""
    first: dict[tuple[str, str], _Line] = {}
    for line in _lines_in(text):
        other = first.setdefault((line.table, line.key), line)
        if other is not line and line.key:
            told = f"{other.value} (line {other.number})"
            twice = given_twice(f"{line.table}.{line.key}", told, line.value)
            raise twice.at(f"{path}:{line.number}")
