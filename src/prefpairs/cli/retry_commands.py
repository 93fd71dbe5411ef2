"""Commands that do what was meant: the arguments as typed, with the options that an error names."""

import json
import shlex
from collections.abc import Iterator, Sequence

from prefpairs.cli.command_as_typed import TypedCommand
from prefpairs.cli.command_docs import options_of_command
from prefpairs.cli.terminal.error_text import are_no_pairs
from prefpairs.errors import (
    ArePairs,
    BadRecords,
    DoesNotTrain,
    MeansNothing,
    NothingCameOut,
    NotOneEach,
    OtherRows,
    PrefpairsError,
    SideLeaks,
    TwoReadings,
)
from prefpairs.files.input_file import STDIN
from prefpairs.targets import DEFAULT, target_named

_RECIPES = "run"
_ROWS = "--rows"
_MOST_BYTES = 64_000_000
"""No larger file is looked at for a hint."""


def commands_for(error: PrefpairsError, words: Sequence[str]) -> Iterator[str]:
    """The commands that settle an error; the first of them is the likeliest."""
    typed = TypedCommand.of(words or ("pair",))
    match error:
        case MeansNothing():
            yield typed.without(error.options).as_command(error.command)
        case SideLeaks() if typed.command == "export":
            kept = typed.with_only(_options_of("split") - {"--out-dir", "--summary", "--require"})
            name = f"split-for-{error.target}"
            yield kept.as_command("split", ["--for", error.target, "--out-dir", name])
        case TwoReadings() | NothingCameOut():
            yield from (_choosing(typed, choice) for choice in _possible(typed, error.choices))
        case DoesNotTrain():
            yield typed.with_only(()).as_command(
                "validate", ["--to", typed.value_of("--to") or DEFAULT]
            )
        case ArePairs() if typed.command != _RECIPES:
            yield _of_pairs(typed)
        case OtherRows() if not isinstance(error, ArePairs):
            yield from (_choosing(typed, choice) for choice in _possible(typed, error.choices))
        case BadRecords() if isinstance(bad := error.first[0][1], NotOneEach):
            yield from _reading_instead(typed, bad)
        case BadRecords() if are_no_pairs(error) and typed.command != _RECIPES:
            yield _of_rollouts(typed, error)


def _possible(typed: TypedCommand, choices: Sequence[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The choices that these inputs allow: --rows is for files of one JSON document."""
    for choice in choices:
        if choice[0] != _ROWS:
            yield choice
        elif typed.arguments and typed.command != _RECIPES:
            from prefpairs.files.document_reader import is_one_document

            if all(is_one_document(path, _MOST_BYTES) for path in typed.arguments):
                yield choice


def with_choice(words: Sequence[str], choice: Sequence[str]) -> str:
    """The command that was typed, with more options."""
    return _choosing(TypedCommand.of(words or ("pair",)), choice)


def _choosing(typed: TypedCommand, choice: Sequence[str]) -> str:
    """The command with options that settle how rows are read, in place of those it has."""
    options = {} if typed.command == _RECIPES else dict(zip(choice[::2], choice[1::2], strict=True))
    if options:
        single = [
            name
            for option in options_of_command(typed.command)
            if not option.repeated
            for name in option.names
        ]
        return typed.without({*options} & {*single}).as_command(more=choice)
    settings = _settings(choice)
    return _without_settings(typed, settings[1::2]).as_command(more=settings)


def _without_settings(typed: TypedCommand, others: Sequence[str]) -> TypedCommand:
    """The command without the settings of a recipe whose place others take."""
    taken = {*map(_name_of, others)}
    kept = [
        one
        for one in typed.given
        if "--set" not in one.names or _name_of(one.words[-1].removeprefix("--set=")) not in taken
    ]
    return typed._replace(given=kept)


def _name_of(setting: str) -> str:
    """The table and key that a setting changes."""
    return setting.partition("=")[0].strip().replace("-", "_")


def _reading_instead(typed: TypedCommand, bad: NotOneEach) -> Iterator[str]:
    """The command with each path that fits in the place of the one that does not.

    A path that was not typed was guessed.
    """
    for option, path, fitting in bad.instead:
        changed = typed.with_path(option, path, fitting)
        yield changed.as_command() if changed != typed else _choosing(typed, [option, fitting])


def _settings(options: Sequence[str]) -> list[str]:
    """Options of [read] in a recipe, as `run` takes them."""
    values: dict[str, list[str]] = {}
    for option, value in zip(options[::2], options[1::2], strict=True):
        values.setdefault(option.removeprefix("--"), []).append(value)
    return [
        word
        for name, given in values.items()
        for word in ("--set", f"read.{name}={json.dumps(given if len(given) > 1 else given[0])}")
    ]


def _of_pairs(typed: TypedCommand) -> str:
    """What to type where rollouts were to be read, and these are pairs."""
    if typed.command not in ("pair", "extract"):
        return typed.without({*_of_rollouts_alone("dedupe"), "--from", "--group"}).as_command()
    if (target := typed.value_of("--to")) is None:
        return typed.with_only(()).as_command("export", ["--to", DEFAULT])
    others = {*_of_rollouts_alone("export"), "--from"}
    if not target_named(target).needs_tokenizer:  # it was for reading rollouts
        others.add("--tokenizer")
    return typed.without(others).as_command("export")


def _of_rollouts_alone(command: str) -> set[str]:
    """The options of `pair` that a command for pairs does not have."""
    return _options_of("pair") - _options_of(command)


def _options_of(command: str) -> set[str]:
    return {name for word in options_of_command(command) for name in word.names}


def _of_rollouts(typed: TypedCommand, error: BadRecords) -> str:
    """What to type where pairs were to be read, and these are none."""
    typed = typed.without({"--from"})
    if typed.command == "export":
        return typed.as_command("pair")
    files, left = typed.arguments, []
    if typed.command == "diff":
        label = error.first[0][0].rpartition(":")[0]
        files = [file for file in files if file.endswith(label)][:1] or files[:1]
        left = [STDIN if file in files else file for file in typed.arguments]
    return (
        f"{shlex.join(['prefpairs', 'pair', *files])} | {typed.with_arguments(left).as_command()}"
    )
