"""Rows of trainers, as rows of pairs."""

from typing import Any

import pytest
from target_driver import DEEP, PLAIN, model, rows_of, system, user

from prefpairs.errors import BadField, UnknownWord, UsageError
from prefpairs.records.pair import pair_of
from prefpairs.targets.reading import DIALECTS, parted, reader_named, unwrap, with_our_names

Q, A, B = user("Q"), model("A"), model("B")


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("pair", [PLAIN, DEEP], ids=["plain", "deep"])
def test_formats_by_their_columns(name: str, pair: Any) -> None:
    """Every row that is written is known without being told."""
    (row,) = rows_of(name, pair)
    assert unwrap(row, "auto") == unwrap(row, name)


@pytest.mark.parametrize("name", DIALECTS)
def test_plain_pair_there_and_back(name: str) -> None:
    """Its texts, and where they are written its scores, are what they were."""
    read, _ = pair_of(unwrap(rows_of(name, PLAIN)[0], "auto"))
    assert read.id == PLAIN.id
    known = name not in ("customizer", "openai")
    assert (read.chosen_score, read.gap) == ((1.0, 0.75) if known else (None, None))


def test_pair_as_it_is() -> None:
    """Nothing happens to it."""
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
    """Forms that are not written but found."""
    read = unwrap(row, "auto")
    assert read["prompt"] == prompt
    pair, _ = pair_of(read)
    assert pair.id == pair_of({"prompt": "Q", "chosen": "A", "rejected": "B"})[0].id


def test_reader_of_a_name() -> None:
    """In both spellings; KTO's rows are no pairs."""
    assert reader_named("ms_swift") is reader_named("ms-swift")
    with pytest.raises(UsageError, match="stand alone"):
        reader_named("trl_kto")
    for name in ("auto", "xml"):
        with pytest.raises(UnknownWord) as caught:
            reader_named(name)
        assert caught.value.known == ["auto", *DIALECTS]


def test_our_names() -> None:
    """What others call scores and ids; a name that is taken stays as it is."""
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
    """What both have in common, back to where the model begins to speak."""
    row = parted({"chosen": chosen, "rejected": rejected})
    assert (row["prompt"], row["chosen"], row["rejected"]) == expected


def test_prompt_beside_whole_conversations() -> None:
    """If it says something else it is kept under another name."""
    whole = {"chosen": [system("S"), Q, A], "rejected": [system("S"), Q, B]}
    for told in (None, "Q", "S", [system("S"), Q]):
        assert "source_prompt" not in parted({"prompt": told, **whole})
    assert parted({"prompt": "R", **whole})["source_prompt"] == "R"


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
    """They have a prompt of their own, or no form that is known."""
    assert parted(row) == row


def test_conversations_that_begin_otherwise() -> None:
    """They are no pair."""
    with pytest.raises(BadField) as caught:
        parted({"chosen": [user("Q"), A], "rejected": [user("R"), B]})
    assert caught.value.field == "chosen"
