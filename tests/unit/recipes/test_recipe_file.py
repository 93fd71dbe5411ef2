"""Recipes: the options of the command line in a file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer

from prefpairs.cli.commands.dedupe import dedupe
from prefpairs.cli.commands.export import export
from prefpairs.cli.commands.extract import extract
from prefpairs.cli.commands.filter import filter  # noqa: A004 - the word that is typed
from prefpairs.cli.commands.pair import pair
from prefpairs.cli.commands.sample import sample
from prefpairs.cli.commands.split import split
from prefpairs.cli.recipe import GROUPS, STAGES, STEPS, Recipe, read_recipe
from prefpairs.cli.terminal.error_text import error_sentences
from prefpairs.cli.typer_adapter import command_of, options_of
from prefpairs.errors import FileError, UnknownWord, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.option import given_options, options_in
from prefpairs.plan import ReadPlan
from prefpairs.plan.export_plan import ToTargetOrPairs
from prefpairs.plan.input_plan import InputPlan, PairInputPlan, TempDir
from prefpairs.plan.runner_plan import RunnerPlan
from prefpairs.plan.write_plan import WritePlan, WriteRecipe
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.stages.split import Split
from prefpairs.strategies.options import PairOptions
from prefpairs.targets.export_options import ExportOptions

INPUT_WORDS = {
    "inputs": ["a.jsonl", "b.jsonl"],
    "limit": 7,
    "on_error": "quarantine",
    "quarantine": "bad.jsonl",
    "max_errors": "0.5%",
    "max_line": "1GB",
    "max_unpacked": "20GB",
    "rows": "data.rows",
    "temp_dir": ".",
}
TELL_WORDS = {
    "summary": "s.json",
    "require": ["pairs>=1", "gap.mean>0"],
    "quiet": True,
    "allow_empty": True,
}
FORM_WORDS = {
    "turns": "all",
    "lossy": "drop",
    "template": "chat_template.jinja",
    "reasoning_as": "field",
    "tool_args": "string",
    "system": "merge",
    "text": True,
    "last_message": True,
    "reward": "chosen-score",
    "release": "0.5",
    "host": "azure",
    "tokenizer": "tokenizer.json",
    "max_tokens": 4096,
    "keep_end": True,
    "pad_to": 2048,
    "pad_prompt_to": 1024,
    "truncate": True,
    "labels": True,
    "single_turn": True,
    "custom_fields": True,
    "hints": "hints.toml",
}
TRACE_WORDS = {
    "score": "passed",
    "hint_generator": "hints:hint",
    "batch_size": 4,
    "max_dpo_tokens": 2048,
}
TABLES: dict[str, dict[str, Any]] = {
    "read": {
        **INPUT_WORDS,
        "from": "nemo-gym",
        "score": ["judge:0.5", "style"],
        "lower_is_better": True,
        "cast_score": True,
        "score_map": ["C=1", "I=0"],
        "prompt": "q",
        "response": "a",
        "preference": "label",
        "response_a": "a",
        "response_b": "b",
        "preference_map": ["1=A", "0=B"],
        "prefer": ["m1"],
        "over": ["m2", "m3"],
        "by": "model",
        "join": ["scores.jsonl"],
        "on": ["id"],
        "group_by": "task,turn",
        "step_name": "move",
        "response_part": "final",
        "reasoning": "drop",
        "context": ["c", "d"],
        "ignore": ["e"],
        "keep": ["x", "y.z"],
        "keep_rows": ["masked"],
        "drop_rows": ["failed"],
        "prompt_template": "t.jinja",
        "tokenizer": "tokenizer.json",
    },
    "pair": {
        "strategy": "adjacent",
        "min_gap": 0.25,
        "max_gap": 0.5,
        "min_chosen_score": -1.0,
        "max_pairs_per_group": 4,
        "high_threshold": 0.9,
        "low_threshold": 0.1,
        "across_prompts": True,
        "rejected_per_chosen": 3,
        "num_candidates": True,
        "seed": 11,
        "yes_all": True,
        "order": "key",
        "assume_grouped": True,
        "workers": 2,
    },
    "dedupe": {
        "by": "prompt,chosen",
        "conflicts": "drop",
        "near": 0.75,
        "near_on": "prompt",
        "against": ["bench.jsonl", "val.jsonl"],
        "against_field": "question",
    },
    "filter": {
        "min_gap": 0.1,
        "max_gap": 0.9,
        "min_chosen_score": 0.2,
        "max_chosen_score": 0.8,
        "min_rejected_score": -0.5,
        "max_rejected_score": 0.7,
        "min_prompt_chars": 1,
        "max_prompt_chars": 2,
        "min_answer_chars": 3,
        "max_answer_chars": 4,
        "max_length_ratio": 1.5,
        "max_tokens": 5,
        "tokenizer": "tokenizer.json",
        "drop_truncated": True,
        "drop_refusals": True,
    },
    "sample": {
        "max_pairs": 9,
        "fraction": 0.5,
        "per_group": 2,
        "order": "hard-first",
        "per": "group",
        "seed": 3,
    },
    "split": {
        "val_fraction": 0.1,
        "test_fraction": 0.1,
        "by": "meta.task",
        "seed": 4,
        "exact": True,
        "like": "old",
        "for": "trl",
        **FORM_WORDS,
    },
    "export": {"to": "trl", **FORM_WORDS, **TRACE_WORDS},
    "write": {
        **TELL_WORDS,
        "output": "o.jsonl",
        "out_dir": "data",
        "manifest": "m.json",
        "force": True,
        "example": True,
        "keep_if_same": True,
    },
}
"""Every key of each table, with a value other than its default."""

OF_ROLLOUTS = GROUPS["read"]
OF_PAIRS = PairInputPlan, TempDir
"""The keys of [read] for rollouts, and for pairs."""

COMMANDS: dict[str, Callable[..., None]] = {
    "extract": extract,
    "pair": pair,
    "dedupe": dedupe,
    "filter": filter,
    "sample": sample,
    "split": split,
    "export": export,
}


ALONE = "[extract] writes candidates: no other stage goes with it"


@pytest.fixture(name="unchecked")
def _unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable checks, so that options which require others can be given alone."""
    of_reading = InputPlan, PairInputPlan, ReadOptions
    for group in (*of_reading, PairOptions, Dedupe, Filter, Sample, Split, WritePlan):
        monkeypatch.setattr(group, "check", lambda _: None)


every_table = pytest.mark.parametrize("table", TABLES)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _recipe(text: str | bytes, *settings: str) -> Recipe:
    Path("r.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_recipe("r.toml", settings)


def _toml(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)


def _table(name: str, words: dict[str, Any]) -> Recipe:
    """A recipe with a table of these keys, and a stage."""
    lines = [f"{word} = {_toml(value)}\n" for word, value in words.items()]
    stage = "" if name in STEPS else "[pair]\n"
    return _recipe(f"[{name}]\n{''.join(lines)}{stage}")


def _typed(kinds: Sequence[type], arguments: Sequence[str]) -> list[Any]:
    """The options as the command line parses them."""
    seen: list[Any] = []

    def take(**groups: Any) -> None:
        seen.extend(groups.values())

    take.__annotations__ = {f"group_{place}": kind for place, kind in enumerate(kinds)}
    app = typer.Typer()
    app.command()(command_of(take))
    app([*arguments], standalone_mode=False)
    return seen


def _as_options(words: dict[str, Any]) -> list[str]:
    arguments: list[str] = []
    for word, value in words.items():
        option = f"--{word.replace('_', '-')}"
        if word == "inputs":
            arguments += value
        elif value is True:
            arguments.append(option)
        else:
            values = value if isinstance(value, list) else [value]
            arguments += [f"{option}={one}" for one in values]
    return arguments


def _wrong(recipe: Recipe, table: str, *kinds: type) -> list[str]:
    with pytest.raises(UsageError) as caught:
        recipe.groups(table, *(kinds or GROUPS[table]))
    return error_sentences(caught.value)[0]


def _known(kinds: Sequence[type]) -> set[str]:
    """The keys of a table."""
    with pytest.raises(UnknownWord) as caught:
        _recipe("[pair]\n[write]\nnothing_of_the_kind = 1\n").groups("write", *kinds)
    return {*caught.value.known}


# Keys --------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@every_table
def test_keys_are_options_of_the_command_line(table: str) -> None:
    """Recipe and command line give the same options; every field is changed by some key."""
    words = TABLES[table]
    read = _table(table, words).groups(table, *GROUPS[table])
    assert read == _typed(GROUPS[table], _as_options(words))
    at_rest = [
        known.key
        for group in read
        for known in options_in(group)
        if getattr(group, known.field) == known.default
    ]
    assert at_rest == []


@pytest.mark.usefixtures("unchecked")
@every_table
def test_each_key_sets_one_field(table: str) -> None:
    """Each key sets the field of its option, and nothing else."""
    for word, value in TABLES[table].items():
        read = _table(table, {word: value}).groups(table, *GROUPS[table])
        assert read == _typed(GROUPS[table], _as_options({word: value}))
        assert len([one for group in read for one in given_options(group, set())]) == 1


@pytest.mark.usefixtures("unchecked")
@every_table
def test_omitted_keys(table: str) -> None:
    """Missing keys have the command line's defaults, with or without the table."""
    for name in (table, "sample" if table != "sample" else "filter"):
        read = _table(name, {}).groups(table, *GROUPS[table])
        assert read == [kind() for kind in GROUPS[table]]


@every_table
def test_tables_list_all_keys(table: str) -> None:
    """The tables above list all keys."""
    assert _known(GROUPS[table]) == {*TABLES[table]}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_has_its_key(command: str) -> None:
    """Recipes have a key for every option about a step, about reading and about writing.

    Options about where a run takes place are not part of a recipe.
    """
    options = {option.key for option in options_of(COMMANDS[command])}
    own = _known(GROUPS.get(command, ()))
    reading = OF_ROLLOUTS if command in ("extract", "pair") else OF_PAIRS
    words = own | _known(reading) | _known([WriteRecipe])
    words |= _known([ToTargetOrPairs, ExportOptions]) if command == "pair" else set()
    assert options - _known([RunnerPlan]) <= words
    assert own <= options


def test_all_steps_are_here() -> None:
    """The tables above include every step."""
    assert {*STEPS} == {*COMMANDS} == {"extract", "pair", *STAGES, "split", "export"}


def test_table_of_inputs_that_are_pairs() -> None:
    """Keys for rollouts are rejected there."""
    assert _known(OF_PAIRS) == {*INPUT_WORDS, "from"}
    recipe = _recipe('[read]\nscore = "x"\n[sample]\n')
    assert _wrong(recipe, "read", *OF_PAIRS) == ["r.toml:2: unknown word in [read]: score"]


@pytest.mark.parametrize(
    ("word", "field"), [("from", "source"), ("score", "scores"), ("limit", "limit")]
)
def test_names_of_fields_are_no_keys(word: str, field: str) -> None:
    """Keys are option names, not names of fields."""
    value = "3" if word == "limit" else '"nat"'
    inputs, rows, _ = _recipe(f"[read]\n{word} = {value}\n[pair]\n").groups("read", *OF_ROLLOUTS)
    assert getattr(rows if word == "score" else inputs, field)
    if word != field:
        recipe = _recipe(f'[read]\n{field} = "nat"\n[pair]\n')
        assert _wrong(recipe, "read") == [f"r.toml:2: unknown word in [read]: {field}"]


@pytest.mark.parametrize("word", ["n", "q", "o", "help", "recipe", "set"])
def test_short_options_are_no_keys(word: str) -> None:
    """Recipes have no keys for short options."""
    assert all(word not in words for words in TABLES.values())
    recipe = _recipe(f"[write]\n{word} = 1\n[sample]\n")
    assert _wrong(recipe, "write") == [f"r.toml:2: unknown word in [write]: {word}"]


@pytest.mark.parametrize(
    ("word", "text", "field", "value"),
    [
        ("inputs", "a b,c", "paths", ["a b,c"]),
        ("score", "a b,c", "scores", (("a b,c", 1.0),)),
        ("keep", "a b,c", "keep", ("a b", "c")),
        ("keep_rows", "masked,no_score", "keep_rows", {"masked", "no_score"}),
        ("keep-rows", "masked", "keep_rows", {"masked"}),
    ],
)
def test_list_that_is_given_as_one_text(word: str, text: str, field: str, value: Any) -> None:
    """A single text is a list of one."""
    recipe = _recipe(f'[read]\n{word} = "{text}"\n[pair]\n')
    inputs, rows, _ = recipe.groups("read", *OF_ROLLOUTS)
    assert getattr(inputs if word == "inputs" else rows, field) == value


def test_other_lists_that_are_given_as_one_text() -> None:
    """This holds for lists in every table."""
    recipe = _recipe('[dedupe]\nagainst = "x"\n[write]\nrequire = "pairs>1"\n')
    assert recipe.group("dedupe", Dedupe).against == ["x"]
    assert recipe.group("write", WriteRecipe).require == ["pairs>1"]


def test_text_that_is_no_list() -> None:
    """`by` accepts commas in one text."""
    recipe = _recipe('[dedupe]\nby = "prompt,chosen"\n')
    assert recipe.group("dedupe", Dedupe).by == ("prompt", "chosen")


def test_hyphen_and_underscore_are_alike() -> None:
    """Hyphen and underscore are interchangeable, as on the command line."""
    recipe = _recipe("[pair]\nmin-gap = 0.5\nmax_pairs-per_group = 2\n", "pair.max-gap=0.75")
    words = recipe.group("pair", PairOptions)
    assert (words.min_gap, words.max_gap, words.max_pairs_per_group) == (0.5, 0.75, 2)


def test_key_that_is_given_twice() -> None:
    """A key given in both spellings is rejected."""
    with pytest.raises(UsageError, match="twice"):
        _recipe("[pair]\nmin-gap = 0.5\nmin_gap = 0.25\n")


def test_whole_number_where_any_number_goes() -> None:
    """An integer is accepted where a float is expected."""
    assert _recipe("[pair]\nmin_gap = 1\n").group("pair", PairOptions).min_gap == 1.0


# Types and bounds --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "word", "value", "problem"),
    [
        ("read", "limit", "-1", "-1: input should be greater than or equal to 0"),
        ("read", "limit", "1.0", "1.0: input should be a valid integer"),
        ("read", "limit", "true", "True: input should be a valid integer"),
        ("read", "inputs", "3", "3: input should be a valid list"),
        ("read", "inputs", '["a", 3]', "['a', 3]: input should be a valid string"),
        ("read", "from", "1", "1: input should be a valid string"),
        ("read", "score", "true", "True: input should be a valid list"),
        ("read", "cast_score", '"yes"', "'yes': input should be a valid boolean"),
        ("pair", "min_gap", "-0.1", "-0.1: input should be greater than or equal to 0"),
        ("pair", "min_gap", "nan", "nan: input should be greater than or equal to 0"),
        ("pair", "min_gap", '"0.1"', "'0.1': input should be a valid number"),
        ("pair", "min_gap", "true", "True: input should be a valid number"),
        ("pair", "max_pairs_per_group", "0", "0: input should be greater than or equal to 1"),
        ("pair", "rejected_per_chosen", "0", "0: input should be greater than or equal to 1"),
        ("pair", "seed", "0.5", "0.5: input should be a valid integer"),
        ("pair", "strategy", "[]", "[]: input should be a valid string"),
        ("pair", "yes_all", "1", "1: input should be a valid boolean"),
        ("dedupe", "near", "1.5", "1.5: input should be less than or equal to 1"),
        ("dedupe", "near", "0.4", "0.4: input should be greater than or equal to 0.5"),
        ("dedupe", "against", "{}", "{}: input should be a valid list"),
        ("filter", "min_prompt_chars", "-1", "-1: input should be greater than or equal to 0"),
        ("filter", "max_prompt_chars", "-1", "-1: input should be greater than or equal to 0"),
        ("filter", "min_answer_chars", "-1", "-1: input should be greater than or equal to 0"),
        ("filter", "max_answer_chars", "-1", "-1: input should be greater than or equal to 0"),
        ("filter", "max_length_ratio", "0.9", "0.9: input should be greater than or equal to 1"),
        ("filter", "max_tokens", "0", "0: input should be greater than or equal to 1"),
        ("sample", "max_pairs", "0", "0: input should be greater than or equal to 1"),
        ("sample", "per_group", "0", "0: input should be greater than or equal to 1"),
        ("sample", "fraction", "-0.1", "-0.1: input should be greater than or equal to 0"),
        ("sample", "fraction", "1.1", "1.1: input should be less than or equal to 1"),
        ("sample", "fraction", "nan", "nan: input should be less than or equal to 1"),
        ("split", "val_fraction", "-0.1", "-0.1: input should be greater than or equal to 0"),
        ("split", "val_fraction", "1.1", "1.1: input should be less than or equal to 1"),
        ("split", "test_fraction", "inf", "inf: input should be less than or equal to 1"),
        ("split", "by", '["prompt"]', "['prompt']: input should be a valid string"),
        ("write", "quiet", '"no"', "'no': input should be a valid boolean"),
    ],
)
def test_wrong_values(table: str, word: str, value: str, problem: str) -> None:
    """Types and bounds are checked, without conversions."""
    stage = "" if table in STEPS else "[pair]\n"
    recipe = _recipe(f"[{table}]\n\n{word} = {value}\n{stage}")
    assert _wrong(recipe, table) == [f"r.toml:3: {table}.{word} is {problem}"]


@pytest.mark.parametrize(
    ("table", "word", "value"),
    [
        ("read", "limit", "0"),
        ("pair", "min_gap", "0"),
        ("dedupe", "near", "0.5"),
        ("dedupe", "near", "1"),
        ("filter", "max_length_ratio", "1"),
        ("sample", "fraction", "0"),
        ("sample", "fraction", "1"),
        ("split", "val_fraction", "1"),
    ],
)
def test_bounds_include_their_number(table: str, word: str, value: str) -> None:
    """Bounds are inclusive."""
    stage = "" if table in STEPS else "[pair]\n"
    recipe = _recipe(f"[{table}]\n{word} = {value}\n{stage}")
    groups = recipe.groups(table, *GROUPS[table])
    assert [getattr(group, word) for group in groups if hasattr(group, word)] == [float(value)]


# Line numbers of errors ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("[pair]\nmin_gpa = 1\n", "r.toml:2"),
        ("[pair]\nmin-gpa = 1\n", "r.toml:2"),
        ("\n\n  [ pair ]  # [split]\n\n   min_gpa=1\n", "r.toml:5"),
        ("# [pair]\n# min_gpa = 1\n[pair] # min_gpa = 1\nmin_gpa = 1\n", "r.toml:4"),
        ("[read]\nkeep = 'min_gpa = 1'\n[pair]\nmin_gpa = 1\n", "r.toml:4"),
        ("[write]\nmin_gpa = 1 # [pair]\n[pair]\nmin_gpa = 1\n", "r.toml:4"),
        ("[read]\ninputs = [\n  'a', # [pair]\n  'b',\n]\n[pair]\nmin_gpa = 1\n", "r.toml:7"),
        ("[pair]\r\n\r\nmin_gpa = 1\r\n", "r.toml:3"),
        (b"\xef\xbb\xbf[pair]\nmin_gpa = 1\n", "r.toml:2"),
        ("[pair]\n'min_gpa' = 1\n", "r.toml:1"),
        ('[pair]\n"min_gpa" = 1\n', "r.toml:1"),
        ("\npair.min_gpa = 1\n", "r.toml"),
        ("pair = {min_gpa = 1}\n", "r.toml"),
        ("['pair']\nmin_gpa = 1\n", "r.toml"),
        ("[pair]\nmin_gpa.a.b = 1\n", "r.toml:1"),
        ("[pair]\n[pair.min_gpa]\n", "r.toml:1"),
    ],
)
def test_line_of_an_unknown_key(text: str | bytes, place: str) -> None:
    """The line of the key, else of its table, else only the file; never another line."""
    recipe = _recipe(text)
    assert _wrong(recipe, "pair") == [f"{place}: unknown word in [pair]: min_gpa"]


@pytest.mark.parametrize(
    ("table", "word", "owner"),
    [("pair", "score", "read"), ("read", "min_gap", "pair"), ("sample", "near-on", "dedupe")],
)
def test_key_of_another_table(table: str, word: str, owner: str) -> None:
    """The hint names the table to which the key belongs."""
    recipe = _table(table, {word: 1})
    with pytest.raises(UsageError) as caught:
        recipe.groups(table, *GROUPS[table])
    name = word.replace("-", "_")
    sentence = f"r.toml:2: unknown word in [{table}]: {name}"
    assert error_sentences(caught.value) == ([sentence], f"{name} belongs in [{owner}]")


def test_nearest_word() -> None:
    """The hint is a key of that table."""
    with pytest.raises(UnknownWord) as caught:
        _recipe("[read]\nscores = 'x'\n[pair]\n").groups("read", *OF_ROLLOUTS)
    assert error_sentences(caught.value)[1] == "did you mean score?"


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85"])
def test_what_ends_no_line_in_toml(odd: str) -> None:
    """Only a line feed ends a line in TOML."""
    recipe = _recipe(f"# a{odd}b\n[pair]\nmin_gpa = 1\n")
    assert _wrong(recipe, "pair") == ["r.toml:3: unknown word in [pair]: min_gpa"]


def test_text_of_several_lines() -> None:
    """Text inside a multi-line string is neither a header nor a key."""
    recipe = _recipe("[read]\nkeep = '''\n[pair]\nmin_gpa = 1\n'''\n[pair]\nmin_gpa = 1\n")
    assert _wrong(recipe, "pair") == ["r.toml:7: unknown word in [pair]: min_gpa"]


def test_telling_place() -> None:
    """An error of an option gets the line of its key, or of the table."""
    recipe = _recipe("[pair]\nseed = 1\nstrategy = 'x'\n[sample]\n")
    told = []
    for table, given in (
        ("pair", UnknownWord("strategy", "x", [])),
        ("pair", UnknownWord("--seed", "x", [])),
        ("pair", UnknownWord("--order", "x", [])),
        ("sample", UsageError("of what size?")),
        ("write", UsageError("odd")),
    ):
        with pytest.raises(UsageError) as caught, recipe.telling_place(table):
            raise given
        told.append(caught.value.place)
    assert told == ["r.toml:3", "r.toml:2", "r.toml:1", "r.toml:4", "r.toml"]


def test_place_that_is_known_already_stays() -> None:
    """A line that is already known is kept."""
    error = UsageError("odd")
    error.place = "elsewhere:7"
    with pytest.raises(UsageError), _recipe("[pair]\n").telling_place("pair"):
        raise error
    assert error.place == "elsewhere:7"


def test_line_of_an_unknown_source() -> None:
    """The line of the key, also if its field has another name."""
    recipe = _recipe("[read]\nlimit = 3\nfrom = 'x'\n[pair]\n")
    with pytest.raises(UnknownWord) as caught, recipe.telling_place("read"):
        raise UnknownWord("source", "x", ["nat"])
    assert caught.value.place == "r.toml:3"


# Tables ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "sentence", "hint"),
    [
        ("[read]\n[pairs]\n", "r.toml:2: unknown table: pairs", "did you mean pair?"),
        ("limit = 3\n[pair]\n", "r.toml:1: unknown table: limit", "did you mean split?"),
        ("[run]\n[pair]\n", "r.toml:1: unknown table: run", None),
        ("\npair = 3\n", "r.toml:2: pair is no table", "write [pair] on a line of its own"),
        ("[[pair]]\n", "r.toml: pair is no table", "write [pair] on a line of its own"),
        ("write = 'o'\n[pair]\n", "r.toml:1: write is no table", None),
        ("", "r.toml has no stage", "one of extract, pair, dedupe, filter, sample, split, export"),
        (
            "[read]\n[write]\n",
            "r.toml has no stage",
            "one of extract, pair, dedupe, filter, sample, split, export",
        ),
        ("[sample]\n[pair]\n", "r.toml:2: [pair] must be the first stage", None),
        ("[split]\n\n[sample]\n", "r.toml:1: [split] must be the last stage", None),
        ("[split]\n[pair]\n", "r.toml:2: [pair] must be the first stage", None),
        (
            "[extract]\n\n[pair]\n",
            f"r.toml:1: {ALONE}",
            None,
        ),
        (
            "[sample]\n[extract]\n",
            f"r.toml:2: {ALONE}",
            None,
        ),
        ("[pair]\n[pair]\n", "r.toml: Cannot declare ('pair',) twice (at line 2, column 6)", None),
        ("[pair]\nmin_gap = .5\n", "r.toml: Invalid value (at line 2, column 11)", None),
    ],
)
def test_wrong_tables(text: str, sentence: str, hint: str | None) -> None:
    """Wrong tables are reported when the recipe is read, with the line if it is known."""
    with pytest.raises(UsageError) as caught:
        _recipe(text)
    sentences, told = error_sentences(caught.value)
    assert sentences == [sentence]
    assert hint in (None, told)


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("[pair]\n", ["pair"]),
        ("[split]\n", ["split"]),
        ("[read]\n[extract]\n[write]\n", ["extract"]),
        ("[write]\n[sample]\n[read]\n[dedupe]\n", ["sample", "dedupe"]),
        (
            "[pair]\n[filter]\n[write]\n[dedupe]\n[split]\n[read]\n",
            ["pair", "filter", "dedupe", "split"],
        ),
        ("sample = {}\ndedupe.by = 'prompt'\n[filter]\n", ["sample", "dedupe", "filter"]),
        ("['pair']\n[ sample ]\n", ["pair", "sample"]),
        ("\ufeff[pair]\r\n[sample]\r\n", ["pair", "sample"]),
    ],
)
def test_order_of_stages(text: str, stages: list[str]) -> None:
    """Stages run in the order of their tables; [read] and [write] may be anywhere."""
    assert _recipe(text).steps == stages


def test_all_forms_of_tables() -> None:
    """Headers, dotted keys, inline tables and quoted keys are equivalent."""
    for text in (
        "[pair]\nmin_gap = 0.5\n",
        "pair.min_gap = 0.5\n",
        "pair = {min_gap = 0.5}\n",
        "['pair']\n\"min-gap\" = 0.5\n",
        " [\tpair ] \n\tmin_gap   =   0.5   # wide\n",
    ):
        assert _recipe(text).group("pair", PairOptions) == PairOptions(min_gap=0.5)


def test_file_that_is_no_recipe() -> None:
    """A missing file, a folder and binary data are errors."""
    with pytest.raises(FileError) as caught:
        read_recipe("none.toml", [])
    assert (caught.value.path, caught.value.problem) == ("none.toml", "No such file or directory")
    with pytest.raises(FileError, match="Is a directory"):
        read_recipe(".", [])
    with pytest.raises(UsageError, match=r"r\.toml is not UTF-8"):
        _recipe("[pair]\n# é".encode("latin-1"))


# --set -------------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("setting", "field", "value"),
    [
        ("pair.min_gap=0.3", "min_gap", 0.3),
        ("pair.min-gap=1", "min_gap", 1.0),
        (" pair.min_gap = 0.3 ", "min_gap", 0.3),
        ("pair.strategy=adjacent", "strategy", "adjacent"),
        ("pair.strategy='adjacent'", "strategy", "adjacent"),
        ('pair.strategy="adjacent"', "strategy", "adjacent"),
        ("pair.strategy=a=b", "strategy", "a=b"),
        ("pair.yes_all=true", "yes_all", True),
        ("pair.yes_all=false", "yes_all", False),
        ("pair.seed=7", "seed", 7),
    ],
)
def test_setting(setting: str, field: str, value: Any) -> None:
    """Values are parsed as TOML, or else taken as text."""
    recipe = _recipe("[pair]\nmin_gap = 0.1\nyes_all = true\n", setting)
    assert getattr(recipe.group("pair", PairOptions), field) == value


def test_setting_with_blanks() -> None:
    """Blanks around the equals sign are ignored."""
    recipe = _recipe("[pair]\n", "pair.strategy = adjacent")
    assert recipe.group("pair", PairOptions).strategy == "adjacent"


def test_setting_of_lists() -> None:
    """A list is one text, or a TOML list."""
    for setting in ("read.inputs=a b.jsonl", "read.inputs=['a b.jsonl']"):
        recipe = _recipe("[read]\ninputs = ['x', 'y']\n[pair]\n", setting)
        inputs, *_ = recipe.groups("read", *OF_ROLLOUTS)
        assert inputs.paths == ["a b.jsonl"]


def test_a_setting_in_place_of_what_is_written() -> None:
    """--set overrides a key in either spelling; other keys stay."""
    recipe = _recipe("[pair]\nseed = 1\nmin_gap = 1\n", "pair.min-gap=3")
    assert recipe.group("pair", PairOptions) == PairOptions(seed=1, min_gap=3)


@pytest.mark.parametrize(
    ("text", "settings", "problem"),
    [
        (
            "[pair]\n",
            ["pair.min_gap=2", "pair.min-gap=3"],
            "--set pair.min_gap is given twice: pair.min_gap=2 and pair.min-gap=3",
        ),
        (
            "[pair]\nmin_gap = 1\n\nmin_gap = 2\n",
            [],
            "pair.min_gap is given twice: 1 (line 2) and 2",
        ),
        (
            "[pair]\nmin_gap = 1\n[pair]\nmin-gap = 2\n",
            [],
            "pair.min_gap is given twice: 1 (line 2) and 2",
        ),
        ("[pair]\nmin_gap = 1\nmin-gap = 2\n", [], "pair.min_gap is given twice: 1 and 2"),
        ("pair.min_gap = 1\npair.min-gap = 2\n", [], "pair.min_gap is given twice: 1 and 2"),
        (
            "[read]\nscore = ['a', 'b']\n[pair]\nscore = 1\nscore = 1\n",
            [],
            "pair.score is given twice: 1 (line 4) and 1",
        ),
    ],
)
def test_a_key_with_two_values(text: str, settings: list[str], problem: str) -> None:
    """Two values for one key exit 2, and both are named."""
    with pytest.raises(UsageError) as caught:
        _recipe(text, *settings)
    assert caught.value.problem == problem


def test_setting_in_a_table_that_is_not_there() -> None:
    """[read] and [write] always exist; --set does not create a stage."""
    recipe = _recipe("[pair]\n", "write.output=o.jsonl", "read.limit=3")
    assert recipe.group("write", WriteRecipe) == WriteRecipe(output="o.jsonl")
    expected = [ReadPlan(limit=3), ReadOptions(), TempDir()]
    assert recipe.groups("read", *OF_ROLLOUTS) == expected
    assert recipe.steps == ["pair"]
    for table in ("sample", "pears", ""):
        with pytest.raises(UnknownWord) as caught:
            _recipe("[pair]\n", f"{table}.seed=1")
        assert (caught.value.what, caught.value.word) == ("table for --set", table)


@pytest.mark.parametrize("setting", ["pair", "pair=1", "pair.min_gap", "pair.=1", "=1", ""])
def test_invalid_setting(setting: str) -> None:
    """A setting needs a table, a key and a value."""
    with pytest.raises(UsageError) as caught:
        _recipe("[pair]\n", setting)
    assert error_sentences(caught.value) == (
        [f"--set {setting}: expected TABLE.WORD=VALUE"],
        "--set pair.min_gap=0.3",
    )


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("pair.min_gap=wide", "pair.min_gap is 'wide': input should be a valid number"),
        ("pair.min_gap=", "pair.min_gap is '': input should be a valid number"),
        ("pair.min_gap=-1", "pair.min_gap is -1: input should be greater than or equal to 0"),
        ("pair.mingap=1", "unknown word in [pair]: mingap"),
        ("pair.a.b=1", "unknown word in [pair]: a.b"),
    ],
)
def test_place_of_a_wrong_setting(setting: str, sentence: str) -> None:
    """The error names the setting, not the line that it overrides."""
    recipe = _recipe("[pair]\nmin_gap = 0.1\n", setting)
    assert _wrong(recipe, "pair") == [f"--set {setting}: {sentence}"]


# Options in effect -------------------------------------------------------------------------


def test_options_in_effect() -> None:
    """All keys with a value, including defaults, under their option names."""
    recipe = _recipe("[sample]\nmax-pairs = 5\n", "sample.seed=2")
    assert recipe.settled == {}
    recipe.group("sample", Sample)
    assert recipe.settled == {
        "sample": {"max_pairs": 5, "order": "input", "per": "pair", "seed": 2}
    }
    recipe.groups("read", *OF_PAIRS)
    assert recipe.settled["read"] == {"max_line": "64MB", "on_error": "fail", "from": "auto"}


@pytest.mark.parametrize("value", ["[" * 2000, "1" * 5000, "[" * 500 + "]" * 500])
def test_toml_that_its_reader_cannot_bear(tmp_path: Path, value: str) -> None:
    """TOML that crashes the parser is rejected like other invalid TOML; --set takes it as text."""
    path = tmp_path / "r.toml"
    path.write_text(f"[sample]\nmax_pairs = {value}\n")
    with pytest.raises(UsageError) as caught:
        read_recipe(str(path), [])
    assert caught.value.hint == "recipes are written in TOML"
    path.write_text("[sample]\n")
    recipe = read_recipe(str(path), [f"sample.max_pairs={value}"])
    assert recipe.tables["sample"]["max_pairs"] == value


@pytest.mark.parametrize("value", ['"a\\u0000"', '["b", "a\\u0000"]'])
def test_names_with_a_nul(tmp_path: Path, value: str) -> None:
    """Names with a NUL, which no file can have, are reported with their line."""
    path = tmp_path / "r.toml"
    path.write_text(f"[read]\ninputs = {value}\n[sample]\n")
    with pytest.raises(UsageError) as caught:
        read_recipe(str(path), []).groups("read", *OF_ROLLOUTS)
    assert caught.value.place == f"{path}:2"
