"""The options of reading."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from prefpairs.errors import FileError, OptionsBothNeeded, OptionsConflict, UnknownWord, UsageError
from prefpairs.fields.read_options import ReadOptions, group_key
from prefpairs.files.input_file import Input
from prefpairs.option import filled
from prefpairs.plan import InputPlan, ReadPlan
from prefpairs.plan.input_plan import TempDir
from prefpairs.sources import LAYOUTS, TABLES


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("r.jsonl", "r_failures.jsonl", "r_materialized_inputs.jsonl"):
        Path(name).touch()


def _plan(**typed: Any) -> ReadPlan:
    typed = {"paths": ["r.jsonl"], **typed}
    return filled(ReadPlan, typed).reading(filled(ReadOptions, typed))


def _inputs(**typed: Any) -> InputPlan:
    return filled(InputPlan, {"paths": ["r.jsonl"], **typed}).found()


def test_values_in_their_form() -> None:
    """Lists are split, weights and reasons parsed, and spellings normalized."""
    plan = _plan(
        source="nemo_gym",
        scores=["reward:0.5", "judge.score"],
        cast_score=True,
        prompt="p",
        response="r",
        group_by="id,model",
        step_name="move",
        response_part="final",
        reasoning="drop",
        keep=["a,b", "c"],
        keep_rows=["masked,no-score"],
    )
    assert plan.source == "nemo-gym"
    assert plan.options == ReadOptions(
        scores=(("reward", 0.5), ("judge.score", 1.0)),
        cast_score=True,
        prompt="p",
        response="r",
        group_by=("id", "model"),
        step_name="move",
        response_part="final",
        reasoning="drop",
        keep=("a", "b", "c"),
        keep_rows=frozenset({"masked", "no_score"}),
    )


@pytest.mark.parametrize(
    ("words", "notes"),
    [
        ({"scores": ["rank"]}, ["--lower-is-better"]),
        ({"scores": ["judges.0.error_count"]}, ["--lower-is-better"]),
        ({"scores": ["reward", "cost:0.5"]}, ["--score cost:-0.5"]),
        ({"scores": ["rank"], "lower_is_better": True}, []),
        ({"scores": ["reward", "cost:-1"]}, []),
        ({"scores": ["cost_reward", "length_penalty", "score"]}, []),
    ],
)
def test_scores_of_which_less_is_better(words: dict[str, Any], notes: list[str]) -> None:
    """For score names where less is probably better, a note names --lower-is-better."""
    told = [note.partition("if less of it is better: ")[2] for note in _plan(**words).notes]
    assert told == notes


@pytest.mark.parametrize(
    ("word", "score"),
    [
        ("reward", ("reward", 1.0)),
        ("reward:2", ("reward", 2.0)),
        ("reward:-0.5", ("reward", -0.5)),
        ("a:b", ("a:b", 1.0)),
        ("a:b:3", ("a:b", 3.0)),
        ("a:", ("a:", 1.0)),
    ],
)
def test_weight_of_a_score(word: str, score: tuple[str, float]) -> None:
    """A colon that is not followed by a number belongs to the path."""
    assert _plan(scores=[word]).options.scores == (score,)


@pytest.mark.parametrize("word", ["auto", "prompt", "file"])
def test_group_by_keywords(word: str) -> None:
    """Three keywords are not paths."""
    assert _plan(group_by=word).options.group_by == word


@pytest.mark.parametrize(
    ("word", "path", "run", "pattern"),
    [
        ("idx//4", "idx", 4, None),
        ("a.b//16", "a.b", 16, None),
        ("idx//0", "idx//0", None, None),
        ("a//b", "a//b", None, None),
        ("uid~(.+)_[0-9]+$", "uid", None, "(.+)_[0-9]+$"),
        ("~x", "~x", None, None),
        ("x~", "x~", None, None),
    ],
)
def test_group_by_a_part_of_a_field(
    word: str, path: str, run: int | None, pattern: str | None
) -> None:
    """A run of its numbers, or what a regular expression matches."""
    found = group_key(word)
    assert (found.path, found.run) == (path, run)
    assert (found.pattern and found.pattern.pattern) == pattern
    assert _plan(group_by=word).options.group_by == (word,)


@pytest.mark.parametrize(
    ("word", "keys"),
    [
        ("uid~x{1,3}$", ("uid~x{1,3}$",)),
        ("uid~(.+)_[0-9]{1,3}$, run", ("uid~(.+)_[0-9]{1,3}$", "run")),
        ("run,uid~[a,b]+,step", ("run", "uid~[a,b]+", "step")),
        ("uid~(?:a,b|[(,]c),run", ("uid~(?:a,b|[(,]c)", "run")),
        (r"uid~a\,b\[,run", (r"uid~a\,b\[", "run")),
        ("uid~a{,run", ("uid~a{", "run")),
        ("uid~a,b", ("uid~a", "b")),
        ("turns[].id,run{", ("turns[].id", "run{")),
    ],
)
def test_commas_in_regular_expressions(word: str, keys: tuple[str, ...]) -> None:
    """Commas in brackets, and escaped ones, belong to the expression."""
    assert _plan(group_by=word).options.group_by == keys


def test_group_by_no_regular_expression() -> None:
    """The error names the word."""
    with pytest.raises(UsageError, match=r"--group-by uid~[(]: not a regular expression"):
        _plan(group_by="uid~(")


@pytest.mark.parametrize("word", ["", ",", " "])
def test_group_by_nothing(word: str) -> None:
    """Rejects an empty list of fields, which would make a single group."""
    with pytest.raises(UsageError):
        _plan(group_by=word)


@pytest.mark.parametrize(
    "words",
    [
        {"source": "nemo"},
        {"response_part": "last"},
        {"reasoning": "hide"},
        {"keep_rows": ["odd"]},
        {"keep_rows": ["empty_answer"]},
        {"on_error": "ignore"},
    ],
)
def test_unknown_names(words: dict[str, Any]) -> None:
    """Unknown names are rejected before anything is read."""
    with pytest.raises(UnknownWord):
        _plan(**words)


@pytest.mark.parametrize(
    "words",
    [
        {"on_error": "quarantine"},
        {"quarantine": "bad.jsonl"},
        {"on_error": "skip", "quarantine": "bad.jsonl"},
    ],
)
def test_quarantine_needs_both_options(words: dict[str, Any]) -> None:
    """Each of the two options requires the other."""
    with pytest.raises(OptionsBothNeeded):
        _plan(**words)


def test_thinking_that_is_dropped_cannot_be_kept() -> None:
    """--keep-rows unfinished_thinking contradicts --reasoning drop."""
    with pytest.raises(OptionsConflict):
        _plan(keep_rows=["unfinished-thinking"], reasoning="drop")


@pytest.mark.parametrize(
    ("word", "number", "percent"),
    [("0", 0, 0), ("100", 100, 0), ("5%", None, 5), (" 0.5 %", None, 0.5), ("100%", None, 100)],
)
def test_tolerated_rows(word: str, number: int | None, percent: float) -> None:
    """--max-errors is a number or a fraction of rows."""
    tolerated = _plan(on_error="skip", max_errors=word).tolerated
    assert tolerated is not None
    assert (tolerated.number, tolerated.percent) == (number, Decimal(str(percent)))


@pytest.mark.parametrize("word", ["", "-1", "x", "%", "1.5", "101%", "1e3", "nan%", "1 000"])
def test_invalid_tolerances(word: str) -> None:
    """Anything but a count or a percentage is rejected."""
    with pytest.raises(UsageError, match="expected a number of rows, or a share"):
        _plan(on_error="skip", max_errors=word)


def test_nothing_is_tolerated_where_one_bad_row_fails() -> None:
    """--max-errors has no effect with --on-error fail, so it is rejected."""
    with pytest.raises(UsageError, match="--max-errors is for"):
        _plan(max_errors="5")


def test_limits() -> None:
    """Limits are passed on with each input."""
    (given,) = _plan(max_line="1.5kB", max_unpacked="2GiB").inputs
    assert given.limits == (1500, 2 << 30)
    (given,) = _plan().inputs
    assert given.limits == (64_000_000, None)


@pytest.mark.parametrize("word", ["", "MB", "-1MB", "0", "0.0001B", "1e6", "5 PB", "1,000", "inf"])
def test_invalid_sizes(word: str) -> None:
    """An invalid size is rejected."""
    with pytest.raises(UsageError, match="--max-line"):
        _plan(max_line=word)


def test_quarantine_is_a_file() -> None:
    """--quarantine may not be standard output, which has the data."""
    for name in ("-", "/dev/stdout"):
        with pytest.raises(UsageError, match=f"--quarantine {name}"):
            _plan(on_error="quarantine", quarantine=name)


@pytest.mark.parametrize("weight", ["nan", "inf", "-inf"])
def test_weight_that_is_no_number(weight: str) -> None:
    """NaN and infinite weights are rejected."""
    with pytest.raises(UsageError, match="weight"):
        _plan(scores=[f"reward:{weight}"])


def test_lower_is_better() -> None:
    """Contradicts --keep-rows no_score, whose 0 would be the best of all losses."""
    assert _plan(lower_is_better=True).options.lower_is_better is True
    with pytest.raises(UsageError, match="--keep-rows no_score"):
        _plan(lower_is_better=True, keep_rows=["no_score"])


def test_no_input_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without inputs on a terminal, the run is rejected."""
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    with pytest.raises(UsageError, match="no input"):
        _plan(paths=None)


@pytest.mark.parametrize("source", ["auto", "nemo-gym", "nemo_gym"])
def test_companions_are_passed_over(source: str) -> None:
    """Other files that NeMo Gym writes are skipped, with a note."""
    plan = _plan(paths=["*.jsonl"], source=source)
    assert [given.label for given in plan.inputs] == ["r.jsonl"]
    names = ("r_failures.jsonl", "r_materialized_inputs.jsonl")
    assert plan.skipped_files == [(name, "NeMo Gym") for name in names]


def test_companions_of_other_sources_are_files() -> None:
    """For other sources, such a name has no meaning."""
    plan = _plan(paths=["*.jsonl"], source="generic")
    assert (len(plan.inputs), plan.skipped_files) == (3, [])


def test_inputs_of_pairs() -> None:
    """Among inputs of pairs, no file is skipped for its name."""
    assert _inputs(paths=["*.jsonl"]).inputs == [
        Input(name, name, layouts=LAYOUTS, tables=TABLES)
        for name in ("r.jsonl", "r_failures.jsonl", "r_materialized_inputs.jsonl")
    ]


@pytest.mark.parametrize(
    "words", [{"on_error": "ignore"}, {"quarantine": "b"}, {"on_error": "quarantine"}]
)
def test_contradictory_input_options(words: dict[str, Any]) -> None:
    """Input options are checked for pairs as for rollouts."""
    with pytest.raises(UsageError):
        _inputs(**words)


def test_put_aside() -> None:
    """--temp-dir defaults to the system's folder."""
    assert (filled(TempDir, {}).temp_dir, filled(TempDir, {"temp_dir": "."}).temp_dir) == (
        None,
        ".",
    )
    with pytest.raises(UsageError, match="--temp-dir t: there is no such directory"):
        filled(TempDir, {"temp_dir": "t"})


def test_template_of_prompts() -> None:
    """The template is parsed; the error for an invalid one names the file."""
    Path("t.jinja").write_text("{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}")
    unrender = _plan(prompt_template="t.jinja").options.unrender
    assert unrender is not None
    assert unrender.messages("<user>Q") == [{"role": "user", "content": "Q"}]
    for source in ("Hello", "{% for"):
        Path("t.jinja").write_text(source)
        with pytest.raises(UsageError) as caught:
            _plan(prompt_template="t.jinja")
        assert caught.value.place == "t.jinja"


def test_tokenizer_that_is_not_there() -> None:
    """The tokenizer is opened before anything is read."""
    with pytest.raises(FileError):
        _plan(tokenizer="t.json")
