"""Converts trainers' rows to rows of pairs."""

import json
from typing import Any

import pytest
from target_rows import DEEP, PLAIN, model, rows_of, system, user

from prefpairs.dataset.row_prompt import split_prompt
from prefpairs.engine.pairs.pairs_from_trainer_rows import reader_named, unwrap, with_our_names
from prefpairs.errors import BadField, TwoReadings, UnknownWord, UsageError
from prefpairs.fields.read_options import ReadOptions
from prefpairs.model.pair import pair_of
from prefpairs.model.question_columns import COLUMNS
from prefpairs.sources.generic import read_any_shape
from prefpairs.targets import PAIR_FORMATS

Q, A, B = user("Q"), model("A"), model("B")


@pytest.mark.parametrize("name", PAIR_FORMATS)
@pytest.mark.parametrize("pair", [PLAIN, DEEP], ids=["plain", "deep"])
def test_formats_by_their_columns(name: str, pair: Any) -> None:
    """Every exported row is recognized without --from."""
    (row,) = rows_of(name, pair)
    assert unwrap(row, "auto") == unwrap(row, name)


@pytest.mark.parametrize("name", PAIR_FORMATS)
def test_plain_pair_there_and_back(name: str) -> None:
    """Texts survive, and scores where they are written."""
    read, _ = pair_of(unwrap(rows_of(name, PLAIN)[0], "auto"))
    assert read.id == PLAIN.id
    known = name not in ("customizer", "openai")
    assert (read.chosen_score, read.gap) == ((1.0, 0.75) if known else (None, None))


def test_pair_as_it_is() -> None:
    """A row of prefpairs stays unchanged."""
    row = {"prompt": "Q", "chosen": "A", "rejected": "B", "chosen_score": 1.0, "meta": {}}
    assert unwrap(row, "auto") == row
    assert unwrap({"anything": 1}, "auto") == {"anything": 1}


@pytest.mark.parametrize(
    ("row", "prompt"),
    [
        ({"messages": [Q], "chosen": A, "rejected": B}, [Q]),
        ({"messages": [Q, A], "rejected_response": "B"}, [Q]),
        ({"instruction": "Q", "chosen": "A", "rejected": "B"}, [Q]),
        ({"prompt": "Q", "chosen_response": "A", "rejected_response": "B"}, "Q"),
        ({"prompt": "Q", "chosen": [Q, A], "rejected": [Q, B], "messages": [Q, A]}, [Q]),
        ({"chosen": [Q, A], "rejected": [Q, B]}, [Q]),
    ],
)
def test_formats_of_others(row: Any, prompt: Any) -> None:
    """Reads formats that are never written."""
    read = unwrap(row, "auto")
    assert read["prompt"] == prompt
    pair, _ = pair_of(read)
    assert pair.id == pair_of({"prompt": "Q", "chosen": "A", "rejected": "B"})[0].id


ANSWERS = {"chosen": "A", "rejected": "B"}


@pytest.mark.parametrize("key", ["question", "query", "problem", "input", "input_prompt"])
@pytest.mark.parametrize("asked", ["Q", [Q]])
def test_prompt_in_another_column(key: str, asked: Any) -> None:
    """Otherwise the common beginning of both answers would be the prompt."""
    row = {key: asked, "chosen": "It is 5.", "rejected": "It is 6."}
    assert unwrap(row, "auto") == {"prompt": asked, "chosen": "It is 5.", "rejected": "It is 6."}
    with_system = unwrap({"system": "S", **row}, "auto")
    assert with_system["prompt"] == [system("S"), Q]
    assert unwrap(row, "trl")["prompt"] == "It is"


def test_prompt_that_both_answers_hold() -> None:
    """A separate question that both answers include is a copy."""
    texts = {"chosen": "Q\nIt is 5.", "rejected": "Q\nIt is 6."}
    assert unwrap({"question": "Q", **texts}, "auto")["prompt"] == "Q\nIt is"
    apart = {"chosen": "Yes. Q? Yes.", "rejected": "Yes. Q? No!"}
    assert unwrap({"question": "Q!", **apart}, "auto") == {"prompt": "Q!", **apart}
    turns = {"chosen": [Q, A], "rejected": [Q, B]}
    assert unwrap({"question": "Q", **turns}, "auto")["prompt"] == [Q]


def test_two_questions_and_no_prompt() -> None:
    """Equal questions are merged; different ones are ambiguous."""
    asked = {"question": "Q", "query": "Q"}
    assert unwrap({**asked, **ANSWERS}, "auto") == {"prompt": "Q", **ANSWERS}
    for other in ({**asked, "query": "R"}, {"question": "Q", "input": "R"}):
        with pytest.raises(TwoReadings) as caught:
            unwrap({**other, **ANSWERS}, "auto")
        assert caught.value.choices == [("--from", "trl")]


@pytest.mark.parametrize(
    ("more", "prompt"),
    [
        ({"system_prompt": "S"}, [system("S"), Q]),
        ({"system": "S", "system_message": "S"}, [system("S"), Q]),
        ({"history": [["a", "b"]]}, [user("a"), model("b"), Q]),
        ({"chat_history": [user("a"), model("b")], "system": "S"}, None),
        ({"image_path": "a.png"}, None),
    ],
)
@pytest.mark.parametrize("prompt_as", ["Q", [Q]])
def test_columns_of_the_question(more: Any, prompt: Any, prompt_as: Any) -> None:
    """Columns of the question are added to the prompt, as in rollouts."""
    read = unwrap({"prompt": prompt_as, **more, **ANSWERS}, "auto")
    rollout = {"prompt": prompt_as, **more, "response": "A", "score": 1}
    assert read.keys() == {"prompt", *ANSWERS}
    assert prompt in (None, read["prompt"])
    expected = read_any_shape(json.dumps(rollout).encode(), ReadOptions(), "").kept[0].prompt
    assert read["prompt"] == expected


def test_no_column_of_the_question_is_lost() -> None:
    """Its value is in the pair, or the run stops; with --from trl, the column is ignored."""
    row = {"prompt": "Q", **ANSWERS}
    for column in sorted(COLUMNS):
        assert pair_of(unwrap({**row, column: None}, "auto"))[0].id == pair_of(row)[0].id, column
        try:
            one, other = (pair_of(unwrap({**row, column: text}, "auto"))[0] for text in ("x", "y"))
        except TwoReadings as error:
            assert error.choices == [("--from", "trl")], column  # noqa: PT017 - both are right
            assert pair_of(unwrap({**row, column: "x"}, "trl"))[0].prompt == "Q"
        else:
            assert one.id != other.id, column


def test_tools_of_pairs_by_another_name() -> None:
    """Tools are read under any name; two different lists are ambiguous."""
    row, one, other = {"prompt": "Q", **ANSWERS}, [{"name": "f"}], [{"name": "g"}]
    assert unwrap({**row, "functions": one}, "auto") == {**row, "tools": one}
    assert unwrap({**row, "functions": one, "tools": one}, "auto") == {**row, "tools": one}
    for more in ({"functions": other, "tools": one}, {"functions": ["f"]}):
        with pytest.raises(TwoReadings):
            unwrap({**row, **more}, "auto")


def test_another_system_message_than_that_of_the_prompt() -> None:
    """The same system message is used once; a different one is ambiguous."""
    row = {"prompt": [system("S"), Q], **ANSWERS}
    assert unwrap({**row, "system": "S"}, "auto") == row
    with pytest.raises(TwoReadings, match="system"):
        unwrap({**row, "system": "T"}, "auto")


def test_reader_of_a_name() -> None:
    """Readers are found in both spellings; KTO rows, which are single answers, have none."""
    assert reader_named("ms_swift") is reader_named("ms-swift")
    with pytest.raises(UsageError, match="single answers, not pairs"):
        reader_named("trl_kto")
    for name in ("auto", "xml"):
        with pytest.raises(UnknownWord) as caught:
            reader_named(name)
        assert caught.value.known == ["auto", *PAIR_FORMATS]


def test_our_names() -> None:
    """Foreign names of scores and IDs are renamed, unless the new name exists."""
    assert with_our_names({"pair_id": "x", "score_gap": 1, "chosen_rating": 2, "k": 3}) == {
        "id": "x",
        "gap": 1,
        "chosen_score": 2,
        "k": 3,
    }
    taken = {"score_chosen": 1, "chosen_score": 2}
    assert with_our_names(taken) == taken
    assert with_our_names({"score_chosen": 1, "chosen_reward": 2}) == {
        "chosen_score": 1,
        "chosen_reward": 2,
    }


@pytest.mark.parametrize(
    ("chosen", "rejected", "expected"),
    [
        ("Q: yes", "Q: no", ("Q:", " yes", " no")),
        ("Q\nyes", "Q\nno", ("Q\n", "yes", "no")),
        ("yes", "no", ("", "yes", "no")),
        ("A: I am", "A: I ate", ("A: I", " am", " ate")),
        ("Q: a", "Q: a b", ("Q:", " a", " a b")),
        ("same", "same", ("", "same", "same")),
        ([Q, A], [Q, B], ([Q], [A], [B])),
        ([Q, A], [Q, A, Q, B], ([Q], [A], [A, Q, B])),
        ([Q, A], [Q, A], ([Q], [A], [A])),
        ([Q, A, A], [Q, A, B], ([Q], [A, A], [A, B])),
    ],
)
def test_conversations_without_a_prompt(chosen: Any, rejected: Any, expected: Any) -> None:
    """The prompt is the common beginning, cut back to the start of an assistant turn."""
    row = split_prompt({"chosen": chosen, "rejected": rejected})
    assert (row["prompt"], row["chosen"], row["rejected"]) == expected


def test_prompt_next_to_whole_conversations() -> None:
    """A prompt that differs from them is kept under another name."""
    whole = {"chosen": [system("S"), Q, A], "rejected": [system("S"), Q, B]}
    for told in (None, "Q", "S", [system("S"), Q]):
        assert "source_prompt" not in split_prompt({"prompt": told, **whole})
    assert split_prompt({"prompt": "R", **whole})["source_prompt"] == "R"


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": [Q], "chosen": [A], "rejected": [B]},
        {"prompt": "Q", "chosen": "A", "rejected": "A B"},
        {"chosen": [A], "rejected": [Q, B]},
        {"chosen": [], "rejected": [Q, B]},
        {"chosen": ["A"], "rejected": ["B"]},
        {"chosen": "A", "rejected": [Q, B]},
        {},
    ],
)
def test_rows_that_are_not_parted(row: Any) -> None:
    """Rows with their own prompt or an unknown form stay unchanged."""
    assert split_prompt(row) == row


def test_conversations_that_begin_otherwise() -> None:
    """Conversations with different beginnings are rejected."""
    with pytest.raises(BadField) as caught:
        split_prompt({"chosen": [user("Q"), A], "rejected": [user("R"), B]})
    assert caught.value.field == "chosen"
