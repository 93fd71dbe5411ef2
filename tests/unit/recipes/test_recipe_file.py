"""Recipes: the words of the command line, in a file."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import typer
from prefpairs.cli.export_options import TargetWords

from prefpairs.cli.commands.dedupe import dedupe
from prefpairs.cli.commands.export import export
from prefpairs.cli.commands.filter import filter  # noqa: A004 - the word that is typed
from prefpairs.cli.commands.pair import pair
from prefpairs.cli.commands.sample import sample
from prefpairs.cli.commands.split import SplitWords, split
from prefpairs.cli.recipe import (
    SIEVES,
    STAGES,
    InputTable,
    ReadTable,
    Recipe,
    WriteTable,
    read_recipe,
)
from prefpairs.cli.terminal.error_text import word_error
from prefpairs.cli.typer_adapter import command_of, options_of
from prefpairs.errors import FileError, UnknownWord, UsageError
from prefpairs.option import given_options, options_in
from prefpairs.stages.dedupe import Dedupe
from prefpairs.stages.filter import Filter
from prefpairs.stages.sample import Sample
from prefpairs.strategies.options import PairOptions

INPUT_WORDS = {
    "inputs": ["a.jsonl", "b.jsonl"],
    "limit": 7,
    "on_error": "quarantine",
    "quarantine": "bad.jsonl",
    "max_errors": "0.5%",
    "max_line": "1GB",
    "max_unpacked": "20GB",
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
    "release": "0.5",
    "host": "azure",
    "tokenizer": "tokenizer.json",
    "max_tokens": 4096,
    "keep_end": True,
    "pad_to": 2048,
    "hints": "hints.toml",
}
TABLES: dict[str, tuple[type, dict[str, Any]]] = {
    "read": (
        ReadTable,
        {
            **INPUT_WORDS,
            "from": "nemo-gym",
            "score": ["judge:0.5", "style"],
            "lower_is_better": True,
            "cast_score": True,
            "prompt": "q",
            "response": "a",
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
    ),
    "pair": (
        PairOptions,
        {
            "strategy": "adjacent",
            "min_gap": 0.25,
            "max_gap": 0.5,
            "min_chosen_score": -1.0,
            "max_pairs_per_group": 4,
            "high_threshold": 0.9,
            "low_threshold": 0.1,
            "across_prompts": True,
            "rejected_per_chosen": 3,
            "seed": 11,
            "yes_all": True,
            "order": "key",
            "assume_grouped": True,
            "workers": 2,
        },
    ),
    "dedupe": (
        Dedupe,
        {
            "by": "prompt,chosen",
            "conflicts": "drop",
            "near": 0.75,
            "near_on": "prompt",
            "against": ["bench.jsonl", "val.jsonl"],
            "against_field": "question",
        },
    ),
    "filter": (
        Filter,
        {
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
    ),
    "sample": (
        Sample,
        {"max_pairs": 9, "fraction": 0.5, "per_group": 2, "order": "hard-first", "seed": 3},
    ),
    "split": (
        SplitWords,
        {
            "val_fraction": 0.1,
            "test_fraction": 0.1,
            "by": "meta.task",
            "seed": 4,
            "exact": True,
            "like": "old",
            "for": "trl",
            **FORM_WORDS,
        },
    ),
    "export": (TargetWords, {"to": "trl", **FORM_WORDS}),
    "write": (
        WriteTable,
        {**TELL_WORDS, "output": "o.jsonl", "out_dir": "data", "manifest": "m.json", "force": True},
    ),
}
"""Every word that a table may say, each with a value that is not its default."""

COMMANDS: dict[str, Callable[..., None]] = {
    "pair": pair,
    "dedupe": dedupe,
    "filter": filter,
    "sample": sample,
    "split": split,
    "export": export,
}


@pytest.fixture(name="unchecked")
def _unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let words stand alone that go together with others only."""
    for stage in (PairOptions, Dedupe, Filter, Sample):
        monkeypatch.setattr(stage, "check", lambda _: None)


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
    """A recipe with a table of these words, and a stage."""
    lines = [f"{word} = {_toml(value)}\n" for word, value in words.items()]
    stage = "" if name in STAGES else "[pair]\n"
    return _recipe(f"[{name}]\n{''.join(lines)}{stage}")


def _typed(kind: type, arguments: Sequence[str]) -> Any:
    """The words as the command line reads them."""
    seen: list[Any] = []

    def take(*, words: Any) -> None:
        seen.append(words)

    take.__annotations__["words"] = kind
    app = typer.Typer()
    app.command()(command_of(take))
    app([*arguments], standalone_mode=False)
    return seen[0]


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


def _wrong(recipe: Recipe, table: str, kind: type) -> list[str]:
    with pytest.raises(UsageError) as caught:
        recipe.words(table, kind)
    return word_error(caught.value)[0]


def _known(kind: type) -> set[str]:
    """The words that a table may say."""
    with pytest.raises(UnknownWord) as caught:
        _recipe("[pair]\n[write]\nnothing_of_the_kind = 1\n").words("write", kind)
    return {*caught.value.known}


# The words ---------------------------------------------------------------------------------


@pytest.mark.usefixtures("unchecked")
@every_table
def test_words_are_those_of_the_command_line(table: str) -> None:
    """A recipe and the command line make the same of each word; no field is left at rest."""
    kind, words = TABLES[table]
    read: Any = _table(table, words).words(table, kind)
    assert read == _typed(kind, _as_options(words))
    at_rest = [known for known in options_in(kind) if getattr(read, known.field) == known.default]
    assert at_rest == []


@pytest.mark.usefixtures("unchecked")
@every_table
def test_one_word_alone_moves_one_field(table: str) -> None:
    """Each word reaches the field of the option of that name, and nothing else."""
    kind, words = TABLES[table]
    for word, value in words.items():
        read: Any = _table(table, {word: value}).words(table, kind)
        assert read == _typed(kind, _as_options({word: value}))
        assert len(given_options(read, set())) == 1


@pytest.mark.usefixtures("unchecked")
@every_table
def test_words_that_are_left_away(table: str) -> None:
    """The defaults of the command line, whether the table is there or not."""
    kind, _ = TABLES[table]
    for name in (table, "sample" if table != "sample" else "filter"):
        assert _table(name, {}).words(table, kind) == kind()


@every_table
def test_there_is_no_other_word(table: str) -> None:
    """The words above are all that a table may say."""
    kind, words = TABLES[table]
    assert _known(kind) == {*words}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_of_a_command_has_its_word(command: str) -> None:
    """What the command line can say of a stage, of reading and of writing, recipes can say."""
    options = {option.key for option in options_of(COMMANDS[command])}
    reading = ReadTable if command == "pair" else InputTable
    words = _known(TABLES[command][0]) | _known(reading) | _known(WriteTable)
    words |= _known(TargetWords) if command == "pair" else set()
    assert options <= words
    assert _known(TABLES[command][0]) <= options


def test_all_stages_are_here() -> None:
    """A stage that is added must be added above."""
    assert {*STAGES} == {*COMMANDS} == {"pair", *SIEVES, "split", "export"}


def test_table_of_inputs_that_are_pairs() -> None:
    """Words about rollouts say nothing there."""
    assert _known(InputTable) == {*INPUT_WORDS, "from"}
    recipe = _recipe('[read]\nscore = "x"\n[sample]\n')
    assert _wrong(recipe, "read", InputTable) == ["r.toml:2: unknown word in [read]: score"]


@pytest.mark.parametrize(
    ("word", "field"), [("from", "source"), ("score", "scores"), ("limit", "limit")]
)
def test_names_of_fields_are_no_words(word: str, field: str) -> None:
    """What counts is what is typed."""
    value = "3" if word == "limit" else '"nat"'
    assert getattr(_recipe(f"[read]\n{word} = {value}\n[pair]\n").words("read", ReadTable), field)
    if word != field:
        recipe = _recipe(f'[read]\n{field} = "nat"\n[pair]\n')
        assert _wrong(recipe, "read", ReadTable) == [f"r.toml:2: unknown word in [read]: {field}"]


@pytest.mark.parametrize("word", ["n", "q", "o", "help", "recipe", "set"])
def test_short_options_are_no_words(word: str) -> None:
    """Words are spelt out."""
    assert all(word not in words for _, words in TABLES.values())
    recipe = _recipe(f"[write]\n{word} = 1\n[sample]\n")
    assert _wrong(recipe, "write", WriteTable) == [f"r.toml:2: unknown word in [write]: {word}"]


@pytest.mark.parametrize(
    ("word", "field"),
    [
        ("inputs", "inputs"),
        ("score", "scores"),
        ("keep", "keep"),
        ("keep_rows", "keep_rows"),
        ("keep-rows", "keep_rows"),
    ],
)
def test_list_that_is_given_as_one_text(word: str, field: str) -> None:
    """A list of one."""
    recipe = _recipe(f'[read]\n{word} = "a b,c"\n[pair]\n')
    assert getattr(recipe.words("read", ReadTable), field) == ["a b,c"]


def test_other_lists_that_are_given_as_one_text() -> None:
    """In every table."""
    recipe = _recipe('[dedupe]\nagainst = "x"\n[write]\nrequire = "pairs>1"\n')
    assert recipe.words("dedupe", Dedupe).against == ["x"]
    assert recipe.words("write", WriteTable).require == ["pairs>1"]


def test_text_that_is_no_list() -> None:
    """`by` takes commas, and stays one text."""
    recipe = _recipe('[dedupe]\nby = "prompt,chosen"\n')
    assert recipe.words("dedupe", Dedupe).by == ("prompt", "chosen")


def test_hyphen_and_underscore_are_alike() -> None:
    """In recipes as on the command line."""
    recipe = _recipe("[pair]\nmin-gap = 0.5\nmax_pairs-per_group = 2\n", "pair.max-gap=0.75")
    words = recipe.words("pair", PairOptions)
    assert (words.min_gap, words.max_gap, words.max_pairs_per_group) == (0.5, 0.75, 2)


def test_word_that_is_given_twice() -> None:
    """Neither spelling wins in silence."""
    with pytest.raises(UsageError, match="twice"):
        _recipe("[pair]\nmin-gap = 0.5\nmin_gap = 0.25\n")


def test_whole_number_where_any_number_goes() -> None:
    """TOML tells 1 from 1.0; the command line does not."""
    assert _recipe("[pair]\nmin_gap = 1\n").words("pair", PairOptions).min_gap == 1.0


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
    """Types and bounds of the options hold, and no value is bent to fit."""
    stage = "" if table in STAGES else "[pair]\n"
    recipe = _recipe(f"[{table}]\n\n{word} = {value}\n{stage}")
    assert _wrong(recipe, table, TABLES[table][0]) == [f"r.toml:3: {table}.{word} is {problem}"]


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
    """The last value that is allowed."""
    stage = "" if table in STAGES else "[pair]\n"
    recipe = _recipe(f"[{table}]\n{word} = {value}\n{stage}")
    assert getattr(recipe.words(table, TABLES[table][0]), word) == float(value)


# Where a wrong word stands -----------------------------------------------------------------


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
def test_line_of_an_unknown_word(text: str | bytes, place: str) -> None:
    """The word itself, else its table, else the file; never another line."""
    recipe = _recipe(text)
    assert _wrong(recipe, "pair", PairOptions) == [f"{place}: unknown word in [pair]: min_gpa"]


def test_nearest_word() -> None:
    """The hint is a word of that table, as it is typed."""
    with pytest.raises(UnknownWord) as caught:
        _recipe("[read]\nscores = 'x'\n[pair]\n").words("read", ReadTable)
    assert word_error(caught.value)[1] == "did you mean score?"


@pytest.mark.parametrize("odd", ["\u2028", "\u2029", "\x85"])
def test_what_ends_no_line_in_toml(odd: str) -> None:
    """Only line feeds count."""
    recipe = _recipe(f"# a{odd}b\n[pair]\nmin_gpa = 1\n")
    assert _wrong(recipe, "pair", PairOptions) == ["r.toml:3: unknown word in [pair]: min_gpa"]


def test_what_stands_in_a_text_of_several_lines() -> None:
    """It is neither a header nor a key."""
    recipe = _recipe("[read]\nkeep = '''\n[pair]\nmin_gpa = 1\n'''\n[pair]\nmin_gpa = 1\n")
    assert _wrong(recipe, "pair", PairOptions) == ["r.toml:7: unknown word in [pair]: min_gpa"]


def test_telling_place() -> None:
    """An error of the words themselves gets the line of the word that it names, or the table's."""
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
    """Nobody knows better than who saw the word."""
    error = UsageError("odd")
    error.place = "elsewhere:7"
    with pytest.raises(UsageError), _recipe("[pair]\n").telling_place("pair"):
        raise error
    assert error.place == "elsewhere:7"


def test_line_of_an_unknown_source() -> None:
    """Where the word stands, also where its field has another name."""
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
        ("", "r.toml has no stage", "one of pair, dedupe, filter, sample, split, export"),
        (
            "[read]\n[write]\n",
            "r.toml has no stage",
            "one of pair, dedupe, filter, sample, split, export",
        ),
        ("[sample]\n[pair]\n", "r.toml:2: [pair] must be the first stage", None),
        ("[split]\n\n[sample]\n", "r.toml:1: [split] must be the last stage", None),
        ("[split]\n[pair]\n", "r.toml:2: [pair] must be the first stage", None),
        ("[pair]\n[pair]\n", "r.toml: Cannot declare ('pair',) twice (at line 2, column 6)", None),
        ("[pair]\nmin_gap = .5\n", "r.toml: Invalid value (at line 2, column 11)", None),
    ],
)
def test_wrong_tables(text: str, sentence: str, hint: str | None) -> None:
    """They are told as the recipe is read, with the line where that is known."""
    with pytest.raises(UsageError) as caught:
        _recipe(text)
    sentences, told = word_error(caught.value)
    assert sentences == [sentence]
    assert hint in (None, told)


@pytest.mark.parametrize(
    ("text", "stages"),
    [
        ("[pair]\n", ["pair"]),
        ("[split]\n", ["split"]),
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
    """That in which they stand; [read] and [write] stand anywhere."""
    assert _recipe(text).stages == stages


def test_words_of_any_form_of_table() -> None:
    """Headers, dotted keys, inline tables and quoted keys say the same."""
    for text in (
        "[pair]\nmin_gap = 0.5\n",
        "pair.min_gap = 0.5\n",
        "pair = {min_gap = 0.5}\n",
        "['pair']\n\"min-gap\" = 0.5\n",
        " [\tpair ] \n\tmin_gap   =   0.5   # wide\n",
    ):
        assert _recipe(text).words("pair", PairOptions) == PairOptions(min_gap=0.5)


def test_file_that_is_no_recipe() -> None:
    """It is not there, or a folder, or no text."""
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
    """Values are those of TOML; what is none is text."""
    recipe = _recipe("[pair]\nmin_gap = 0.1\nyes_all = true\n", setting)
    assert getattr(recipe.words("pair", PairOptions), field) == value


def test_setting_with_blanks() -> None:
    """Blanks around the equals sign say nothing."""
    recipe = _recipe("[pair]\n", "pair.strategy = adjacent")
    assert recipe.words("pair", PairOptions).strategy == "adjacent"


def test_setting_of_lists() -> None:
    """One text, or a list as TOML has them."""
    for setting in ("read.inputs=a b.jsonl", "read.inputs=['a b.jsonl']"):
        recipe = _recipe("[read]\ninputs = ['x', 'y']\n[pair]\n", setting)
        assert recipe.words("read", ReadTable).inputs == ["a b.jsonl"]


def test_a_setting_in_place_of_what_is_written() -> None:
    """Whatever its spelling; the others stay as written."""
    recipe = _recipe("[pair]\nseed = 1\nmin_gap = 1\n", "pair.min-gap=3")
    assert recipe.words("pair", PairOptions) == PairOptions(seed=1, min_gap=3)


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
def test_a_word_with_two_values(text: str, settings: list[str], problem: str) -> None:
    """Exit 2, and both are named."""
    with pytest.raises(UsageError) as caught:
        _recipe(text, *settings)
    assert caught.value.problem == problem


def test_setting_in_a_table_that_is_not_there() -> None:
    """[read] and [write] are always there; a stage is not made by a setting."""
    recipe = _recipe("[pair]\n", "write.output=o.jsonl", "read.limit=3")
    assert recipe.words("write", WriteTable) == WriteTable(output="o.jsonl")
    assert recipe.words("read", ReadTable) == ReadTable(limit=3)
    assert recipe.stages == ["pair"]
    for table in ("sample", "pears", ""):
        with pytest.raises(UnknownWord) as caught:
            _recipe("[pair]\n", f"{table}.seed=1")
        assert (caught.value.what, caught.value.word) == ("table for --set", table)


@pytest.mark.parametrize("setting", ["pair", "pair=1", "pair.min_gap", "pair.=1", "=1", ""])
def test_setting_that_is_none(setting: str) -> None:
    """A table, a word and a value."""
    with pytest.raises(UsageError) as caught:
        _recipe("[pair]\n", setting)
    assert word_error(caught.value) == (
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
    """The setting, not the line that it overrides."""
    recipe = _recipe("[pair]\nmin_gap = 0.1\n", setting)
    assert _wrong(recipe, "pair", PairOptions) == [f"--set {setting}: {sentence}"]


# What was in force -------------------------------------------------------------------------


def test_settled_words() -> None:
    """All words that have a value, those that nobody wrote included, under their typed names."""
    recipe = _recipe("[sample]\nmax-pairs = 5\n", "sample.seed=2")
    assert recipe.settled == {}
    recipe.words("sample", Sample)
    assert recipe.settled == {"sample": {"max_pairs": 5, "order": "input", "seed": 2}}
    recipe.words("read", InputTable)
    assert recipe.settled["read"] == {"max_line": "64MB", "on_error": "fail", "from": "auto"}


@pytest.mark.parametrize("value", ["[" * 2000, "1" * 5000, "[" * 500 + "]" * 500])
def test_toml_that_its_reader_cannot_bear(tmp_path: Path, value: str) -> None:
    """It is refused as any other that is wrong; --set takes it for text."""
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
    """The file system has no such names, so the line is named at once."""
    path = tmp_path / "r.toml"
    path.write_text(f"[read]\ninputs = {value}\n[sample]\n")
    with pytest.raises(UsageError) as caught:
        read_recipe(str(path), []).words("read", ReadTable)
    assert caught.value.place == f"{path}:2"
