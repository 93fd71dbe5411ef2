"""Experiences of Trinity-RFT: one test for each rule."""

from typing import Any

import pytest
from target_rows import TOKENS, calling, model, pair, rows_of, told, user

from prefpairs.dataset.row_checks import check_row
from prefpairs.dataset.row_rules import Row
from prefpairs.targets import target_named
from prefpairs.targets.base import CannotExport
from prefpairs.targets.trinity_experience import TARGET

PROMPT = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"
PAIR = pair("Q", "Aye", "No")
TURNS = pair("Q", [calling(), told("1"), model("Aye")], "No")


def _rows(given: Any = PAIR, **words: Any) -> list[Row]:
    return rows_of("trinity-experience", given, tokenization=TOKENS, **words)


def _text(ids: list[int]) -> str:
    return "".join(map(chr, ids))


def test_experience() -> None:
    """The tokens of the prompt and of both answers, whole conversations, and the scores."""
    (row,) = _rows()
    assert _text(row.pop("tokens")) == PROMPT
    assert _text(row.pop("chosen")) == "Aye<|im_end|>\n"
    assert _text(row.pop("rejected")) == "No<|im_end|>\n"
    scores = {"score_chosen": 1.0, "score_rejected": 0.25, "score_gap": 0.75}
    assert row == {
        "eid": {"batch": "", "task": PAIR.group, "run": 0, "step": 0, "suffix": PAIR.id},
        "prompt_length": len(PROMPT),
        "info": {"pair_id": PAIR.id, **scores},
        "metrics": scores,
        "tools": None,
        "custom_fields": [],
        "chosen_messages": [user("Q"), model("Aye")],
        "rejected_messages": [user("Q"), model("No")],
    }


def test_single_turn() -> None:
    """Each answer by itself: another run of the task, with its own score and its own mask."""
    chosen, rejected = _rows(TURNS, single_turn=True)
    assert [each["eid"]["run"] for each in (chosen, rejected)] == [0, 1]
    suffixes = [each["eid"]["suffix"] for each in (chosen, rejected)]
    assert suffixes == [f"{TURNS.id}-chosen", f"{TURNS.id}-rejected"]
    assert [each["reward"] for each in (chosen, rejected)] == [1.0, 0.25]
    for row in (chosen, rejected):
        assert _text(row["tokens"][: row["prompt_length"]]) == PROMPT
        assert len(row["action_mask"]) == len(row["tokens"]) - row["prompt_length"]
    answer = chosen["tokens"][chosen["prompt_length"] :]
    own = [one for one, mine in zip(answer, chosen["action_mask"], strict=True) if mine]
    assert "tool_response" not in _text(own)
    assert "<|im_start|>tool" in _text(answer)
    assert _text(own).endswith("Aye<|im_end|>")
    assert chosen["messages"][-1] == model("Aye")


def test_answers_that_need_a_mask() -> None:
    """Experiences for DPO have none, so results of tools would be trained on."""
    with pytest.raises(CannotExport) as caught:
        _rows(TURNS)
    assert caught.value.reason == "mask_inside"
    (row,) = _rows(TURNS, turns="first")
    assert _text(row["chosen"]).endswith("<|im_end|>\n")


def test_custom_fields() -> None:
    """All experiences have the same custom fields, so a pair without scores is rejected."""
    (row,) = _rows(custom_fields=True)
    assert row["custom_fields"] == [
        {"source_field": name, "destination_field": name, "data_type": "torch.float32"}
        for name in ("score_chosen", "score_rejected", "score_gap")
    ]
    assert all(each["source_field"] in row["info"] for each in row["custom_fields"])
    with pytest.raises(CannotExport) as caught:
        _rows(PAIR._replace(rejected_score=None, gap=None), custom_fields=True)
    assert caught.value.reason == "score_unknown"


def test_cuts_are_noticed() -> None:
    """In the experience, and in the counts."""
    made = _rows(max_tokens=len(PROMPT) + 3, truncate=True)
    assert made[0]["info"]["tokens_cut"] > 0
    assert TARGET.changes(made) == {"tokens_cut"}
    made = _rows(max_tokens=len(PROMPT), keep_end=True)
    assert made[0]["prompt_length"] < len(PROMPT)
    assert TARGET.changes(made) == {"prompt_head_cut"}


@pytest.mark.parametrize("words", [{}, {"single_turn": True}])
def test_rules_find_nothing_in_our_rows(words: dict[str, Any]) -> None:
    """Neither kind of experience that we write has findings."""
    for row in _rows(**words):
        assert list(check_row(row, TARGET.rules)) == []


@pytest.mark.parametrize(
    ("columns", "code"),
    [
        ({"chosen": None}, "missing_column"),
        ({"rejected": [-1]}, "not_ids"),
        ({"rejected": "same"}, "wrong_type"),
        ({"chosen": [1], "rejected": [1]}, "equal_sides"),
    ],
)
def test_what_would_not_train(columns: Row, code: str) -> None:
    """Experiences that would not train are reported, whichever program wrote them."""
    (row,) = _rows()
    found = {each.code for each in check_row({**row, **columns}, TARGET.rules)}
    assert code in found


def test_masks_that_would_not_train() -> None:
    """Without a one, or not of zeros and ones."""
    row = _rows(single_turn=True)[0]
    for mask, code in (([0], "mask_empty"), ([2], "mask_wrong")):
        found = {each.code for each in check_row({**row, "action_mask": mask}, TARGET.rules)}
        assert code in found


def test_it_is_read_back_as_pairs() -> None:
    """Other commands read these rows, by their columns."""
    (row,) = _rows()
    read = target_named("trinity").rules.read(row)
    assert (read["prompt"], read["chosen"], read["rejected"]) == (
        [user("Q")],
        [model("Aye")],
        [model("No")],
    )
    assert read["chosen_tokens"]["prompt_length"] == len(PROMPT)
