"""The completions for a command line that is being typed.

The shell asks at each press of a key, so only the command that is being typed is loaded.
"""

from collections.abc import Sequence
from typing import NamedTuple

from prefpairs.cli.command_as_typed import TypedCommand
from prefpairs.cli.command_docs import EVERYWHERE, options_of_command
from prefpairs.cli.main import COMMANDS
from prefpairs.option import Option

_FILES = ("FILE", "INPUT", "BEFORE AFTER", "RECIPE.toml", "MANIFEST", "DATASET")
_FOLDERS = ("DIR", "OLD_DIR", "DATASET|JOB")
_EVERYWHERE_SAYS = "All about it."
_ANYWHERE = {"--help": "All commands.", "--version": "The version."}


class Answer(NamedTuple):
    """What could be typed, each with a line on it; and the kind of names that could be, too."""

    words: dict[str, str]
    names: str = "none"
    """none, files or folders: the shell knows those."""


def completed(words: Sequence[str], *, cut_at_equals: bool = False) -> Answer:
    """The completions of the last word.

    A word stays as far as it was typed, with `-` or `_`. Of `--option=value` bash wants the value
    alone, and hands it over in three pieces: `cut_at_equals`.
    """
    *before, typed = _joined(words) if cut_at_equals else words or [""]
    if not before and typed.startswith("-"):
        return _beginning(_ANYWHERE, typed)
    if before in ([], ["help"]):
        return _beginning(COMMANDS, typed)
    if before[0] not in COMMANDS:
        return Answer({})
    known = options_of_command(before[0])
    name, equals, value = typed.partition("=")
    if typed.startswith("--") and equals:
        values = _values(_option(name, known), value)
        return values if cut_at_equals else _behind(f"{name}=", values)
    return _next(before, typed, known)


def _next(before: Sequence[str], typed: str, known: Sequence[Option]) -> Answer:
    """A value that is waited for, an option, or an argument."""
    if (option := _waiting(before, known)) is not None:
        return _values(option, typed)
    if typed.startswith("-") and "--" not in before:
        return _beginning(_options(before, known), typed)
    return _values(_argument(before, known), typed)


def _joined(words: Sequence[str]) -> list[str]:
    """The words as they were typed: bash cuts them at each =."""
    joined = [""]
    glued = True
    for word in words:
        if word == "=" or glued:
            joined[-1] += word
        else:
            joined.append(word)
        glued = word == "=" and joined[-1].startswith("--")
    return joined


def _beginning(known: dict[str, str], typed: str) -> Answer:
    """The words that begin so."""
    return Answer({_respelt(name, typed): line for name, line in known.items() if _is(name, typed)})


def _is(name: str, typed: str) -> bool:
    return _plain(name).startswith(_plain(typed))


def _plain(word: str) -> str:
    return word.replace("_", "-")


def _respelt(name: str, typed: str) -> str:
    """A name with `-` or `_`, as in the part that was typed."""
    rest = name[len(typed) :]
    return typed + (rest.replace("-", "_") if "_" in typed else rest)


def _option(name: str, known: Sequence[Option]) -> Option | None:
    """The option with this name."""
    return next((word for word in known if _plain(name) in map(_plain, word.names)), None)


def _waiting(before: Sequence[str], known: Sequence[Option]) -> Option | None:
    """The option whose value comes next."""
    option = None
    for word in before[1:]:
        if option is not None:
            option = None
        elif word == "--":
            return None
        elif word.startswith("-"):
            found = _option(word, known)
            option = found if found is not None and found.metavar else None
    return option


def _options(before: Sequence[str], known: Sequence[Option]) -> dict[str, str]:
    """The options that may still be given, by their long names."""
    given = {_plain(word.partition("=")[0]) for word in before}
    free = {
        word.names[-1]: word.help
        for word in known
        if word.names and (word.repeated or given.isdisjoint(map(_plain, word.names)))
    }
    return {**free, EVERYWHERE[-1]: _EVERYWHERE_SAYS}


def _argument(before: Sequence[str], known: Sequence[Option]) -> Option | None:
    """The argument whose turn it is."""
    arguments = [word for word in known if not word.names]
    given = len(TypedCommand.of(before).arguments)
    if given < len(arguments):
        return arguments[given]
    return arguments[-1] if arguments and arguments[-1].repeated else None


def _values(word: Option | None, typed: str) -> Answer:
    """What an option or an argument takes."""
    if word is None:
        return Answer({})
    kind = word.metavar.strip("[].").removesuffix(",")
    if kind in _FILES or kind in _FOLDERS:
        return Answer({}, "files" if kind in _FILES else "folders")
    start, comma, last = typed.rpartition(",") if word.metavar.endswith(",...") else ("", "", typed)
    return _behind(start + comma, _beginning(_choices(kind), last))


def _behind(start: str, answer: Answer) -> Answer:
    return answer._replace(words={start + word: line for word, line in answer.words.items()})


def _choices(kind: str) -> dict[str, str]:
    """Completions for a metavar: a kind of values, or words separated by `|`."""
    if kind in _LISTS:
        return _LISTS[kind]()
    return {part: "" for part in kind.split("|") if part.islower()}


def _strategies() -> dict[str, str]:
    from prefpairs.strategies import ALIASES, STRATEGIES

    return {**{alias: STRATEGIES[name] for alias, name in ALIASES.items()}, **STRATEGIES}


def _sources() -> dict[str, str]:
    from prefpairs.sources import SOURCES

    return {"auto": "look at each row", **SOURCES}


def _targets() -> dict[str, str]:
    from prefpairs.targets import TARGETS

    return TARGETS


def _dialects() -> dict[str, str]:
    from prefpairs.targets import PAIR_FORMATS

    targets = _targets()
    return {"auto": "look at the columns", **{name: targets[name] for name in PAIR_FORMATS}}


def _kinds() -> dict[str, str]:
    pairs = {"pairs": "what `prefpairs pair` writes", **_dialects()}
    return {**pairs, **_sources(), "auto": "look at the first row"}


def _codes() -> dict[str, str]:
    from prefpairs.reasons import ALL

    return ALL


def _switchable() -> dict[str, str]:
    from prefpairs.reasons import ALL, SWITCHABLE

    return {code: ALL[code] for code in SWITCHABLE}


_LISTS = {
    "STRATEGY": _strategies,
    "SOURCE": _sources,
    "TARGET": _targets,
    "FORMAT": _dialects,
    "KIND": _kinds,
    "CODE": _codes,
    "REASON": _switchable,
}
