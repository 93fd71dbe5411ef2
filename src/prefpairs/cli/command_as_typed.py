"""A command as it was typed, and changed copies of it: hints that can be copied."""

import shlex
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Self

if TYPE_CHECKING:
    from prefpairs.option import Option

_typed: list[str] = []
"""The command line."""


def remember_command(words: Sequence[str]) -> None:
    """Keep the command line, for hints that repeat it."""
    _typed[:] = words


def typed_command() -> list[str]:
    """The command line; in a step of a run, the one that planned the steps."""
    return [*_typed]


class Given(NamedTuple):
    """An option as it was typed, with its value; or an argument, which has no names."""

    names: Sequence[str]
    words: Sequence[str]


class TypedCommand(NamedTuple):
    """A command as it was typed."""

    command: str
    given: Sequence[Given]

    @classmethod
    def of(cls, words: Sequence[str]) -> Self:
        """What the words of a command line are."""
        from prefpairs.cli.command_docs import options_of_command

        command, *rest = words
        return cls(command, [*_given(rest, options_of_command(command))])

    @property
    def arguments(self) -> list[str]:
        """The words that are no options."""
        return [given.words[0] for given in self.given if not given.names]

    def value_of(self, option: str) -> str | None:
        """What was typed for an option."""
        given = next((given for given in self.given if option in given.names), None)
        return None if given is None else given.words[-1].removeprefix(f"{option}=")

    def without(self, options: Collection[str]) -> "TypedCommand":
        """The same without these options."""
        return self._replace(given=[one for one in self.given if not {*one.names} & {*options}])

    def with_only(self, options: Collection[str]) -> "TypedCommand":
        """The same without all other options."""
        kept = [one for one in self.given if not one.names or {*one.names} & {*options}]
        return self._replace(given=kept)

    def with_path(self, option: str, old: str, new: str) -> "TypedCommand":
        """The same with another path for an option that has this one; a weight behind it stays."""
        given = [
            one._replace(words=(*one.words[:-1], _with_path(one.words[-1], old, new)))
            if option in one.names
            else one
            for one in self.given
        ]
        return self._replace(given=given)

    def with_arguments(self, arguments: Sequence[str]) -> "TypedCommand":
        """The same with other arguments."""
        options = [given for given in self.given if given.names]
        return self._replace(given=[*options, *(Given((), (word,)) for word in arguments)])

    def as_command(self, command: str | None = None, more: Iterable[str] = ()) -> str:
        """A line for a shell: this command or another one, with more options before the others."""
        given = self.given
        if any(word.startswith("-") and word != "-" for word in self.arguments):
            dashes = Given(("--",), ("--",))
            given = [
                *self.with_arguments([]).given,
                dashes,
                *(one for one in given if not one.names),
            ]
        words = [word for one in given for word in one.words]
        return shlex.join(["prefpairs", command or self.command, *more, *words])


def _with_path(word: str, old: str, new: str) -> str:
    """A word with one path replaced, which may follow `--option=` and precede a weight.

    >>> _with_path("--score=a:0.5", "a", "b"), _with_path("a.b", "a", "b")
    ('--score=b:0.5', 'a.b')
    """
    option, equals, value = word.partition("=") if word.startswith("--") else ("", "", word)
    path, colon, weight = (value, "", "") if value == old else value.rpartition(":")
    return f"{option}{equals}{new}{colon}{weight}" if path == old else word


def _given(words: Sequence[str], known: "Sequence[Option]") -> Iterator[Given]:
    """The options and arguments that words are, as typer takes them apart."""
    left = iter(words)
    for word in left:
        if word == "--":
            yield from (Given((), (argument,)) for argument in left)
        elif word == "-" or not word.startswith("-"):
            yield Given((), (word,))
        elif word.startswith("--"):
            name, equals, _ = word.partition("=")
            option = _named(name, known)
            takes_next = bool(option and option.metavar) and not equals
            value = [*_next(left)] if takes_next else []
            yield Given(option.names if option else (name,), (word, *value))
        else:
            yield from _letters(word[1:], left, known)


def _letters(letters: str, left: Iterator[str], known: "Sequence[Option]") -> Iterator[Given]:
    """The options of `-qn 5`: letters without values, and one whose value is the rest."""
    for place, letter in enumerate(letters, 1):
        option = _named(f"-{letter}", known)
        names = option.names if option else (f"-{letter}",)
        if option and option.metavar:
            value = [letters[place:]] if letters[place:] else [*_next(left)]
            yield Given(names, (f"-{letter}", *value))
            return
        yield Given(names, (f"-{letter}",))


def _next(left: Iterator[str]) -> Iterator[str]:
    word = next(left, None)
    if word is not None:
        yield word


def _named(name: str, known: "Sequence[Option]") -> "Option | None":
    spelled = name.replace("_", "-")
    return next((word for word in known if spelled in word.names), None)
