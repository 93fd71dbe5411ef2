"""Rollouts in NeMo RL's logs to candidates: one test per rule."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from prefpairs.chat.unrender import Unrenderer
from prefpairs.errors import BadField, TwoReadings
from prefpairs.fields.cross_row_facts import CrossRowFacts
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources.detect import source_of
from prefpairs.sources.nemo_rl import open_reader

Row = dict[str, Any]
ASKED = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"
SYSTEM = "<|im_start|>system\nS<|im_end|>\n"
SEEN = "\n<|im_start|>user\nseen<|im_end|>\n<|im_start|>assistant\n"
CHATML = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{{- '<|im_start|>assistant\\n' if add_generation_prompt }}"
)


def _train(texts: list[str], mask: str, **more: Any) -> Row:
    """A row whose mask has a character for each token; a blank is padding."""
    length = len(mask.rstrip())
    numbers = [int(own) for own in mask.replace(" ", "0")]
    row: Row = {"content": [texts], "rewards": [0.5], "input_lengths": [length]}
    row |= {"token_ids": [[*range(5, 5 + len(mask))]], "token_loss_mask": [numbers]}
    return {**row, "sample_loss_mask": [1.0], "idx": 3, **more}


def _val(*turns: tuple[str, str]) -> Row:
    messages = [{"role": role, "content": content} for role, content in turns]
    return {"content": [messages], "rewards": [1.0], "idx": 0}


def _read(row: Row, label: str = "train_data_step1.jsonl", **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), label).read(json.dumps(row).encode())


def test_a_row_is_a_candidate() -> None:
    """The end-of-turn token is not part of the text; the tokens have no padding."""
    row = _train([ASKED, "A<|im_end|>"], "00011  ")
    (found,) = _read(row).kept
    assert (found.prompt, found.response, found.score, found.index) == (ASKED, "A", 0.5, 3)
    assert found.tokens == {"ids": [5, 6, 7, 8, 9], "prompt_length": 3, "mask": [1, 1]}
    assert found.meta == {"prompt_rendered": True}
    assert source_of(json.dumps(row).encode()) == "nemo-rl"


@pytest.mark.parametrize(
    ("texts", "mask", "prompt", "said"),
    [
        ([ASKED, "A", "Environment: right"], "00110", ASKED, ["A"]),
        ([SYSTEM, ASKED, "A"], "0011", SYSTEM + ASKED, ["A"]),
        ([SYSTEM, ASKED, "A", "seen"], "001100 ", SYSTEM + ASKED, ["A"]),
        ([ASKED, "A<|im_end|>", SEEN, "B<|im_end|>"], "00110111", ASKED, ["A", SEEN, "B"]),
        ([ASKED, "A", SEEN, "B", "seen"], "001101110 ", ASKED, ["A", SEEN, "B"]),
    ],
)
def test_turns_of_training(texts: list[str], mask: str, prompt: str, said: list[str]) -> None:
    """The mask shows the model's turns, and whether the environment had the last one."""
    (found,) = _read(_train(texts, mask)).kept
    asked = found.prompt if isinstance(found.prompt, str) else found.prompt[0]["content"]
    turns = found.response
    told = [turns] if isinstance(turns, str) else [turn["content"] for turn in turns]
    assert (asked, told) == (prompt, said)
    assert found.tokens is not None
    assert found.tokens["mask"][-1] == 1


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        (_train([ASKED, "A"], "011", sample_loss_mask=[0.0]), "masked"),
        (_train([ASKED, ""], "00"), "empty_answer"),
        (_train([ASKED, "<|im_end|>"], "01"), "empty_answer"),
        (_train([ASKED, "A", "", "B"], "0111"), "turns_unclear"),
        (_train([ASKED, "A", "seen", "B"], "011"), "turns_unclear"),
        (_train(["A"], "011"), "turns_unclear"),
        (_train([ASKED, "A"], "011", rewards=[None]), "no_score"),
        (_val(("user", ASKED), ("environment", "seen")), "no_response"),
        ({"content": [["Q", "A"]], "rewards": [1.0], "idx": 0}, "turns_unclear"),
    ],
)
def test_rollouts_that_are_dropped(row: Row, reason: str) -> None:
    """If the turns of the model are unknown, the rollout is dropped."""
    reading = _read(row)
    assert (reading.kept, reading.lost) == ([], [reason])


def test_keep_rows() -> None:
    """--keep-rows uses masked rollouts."""
    row = _train([ASKED, "A"], "011", sample_loss_mask=[0.0])
    assert _read(row, keep_rows=frozenset({"masked"})).kept


def test_logs_without_rewards() -> None:
    """Distillation writes such logs; they are recognized, and have no score."""
    row = {"content": [[ASKED, "A"]], "input_lengths": [3], "idx": 0}
    assert source_of(json.dumps(row).encode()) == "nemo-rl"
    assert _read(row).lost == ["no_score"]


def test_logs_without_a_mask() -> None:
    """Older logs have no mask: the model's turns follow a generation prompt."""
    row = {"content": [[ASKED, "A", SEEN, "B"]], "rewards": [1.0], "idx": 0}
    (found,) = _read(row).kept
    assert isinstance(found.response, list)
    assert [turn["role"] for turn in found.response] == ["assistant", "user", "assistant"]


class _Decoder:
    """A tokenizer whose token 9 is special."""

    special = frozenset({9})
    size = 100

    def text(self, ids: Sequence[int]) -> str:
        """Not needed: rows have texts."""
        raise NotImplementedError


@pytest.mark.parametrize(
    ("texts", "mask", "lost", "noticed"),
    [
        ([ASKED, "A<|im_end|>"], "00011", [], []),
        ([ASKED, "A"], "00011", [], []),
        ([ASKED, "A"], "0001", ["incomplete"], []),
        ([ASKED, "A", "seen"], "000110", [], []),
        ([ASKED, "A", "seen"], "000100", ["incomplete"], []),
    ],
)
def test_a_truncated_answer_by_its_last_token(
    texts: list[str], mask: str, lost: list[str], noticed: list[str]
) -> None:
    """With a tokenizer, an answer that does not end in a special token was truncated."""
    reading = _read(_train(texts, mask), decoder=_Decoder())
    assert (reading.lost, reading.noticed) == (lost, noticed)
    kept = _read(_train(texts, mask), decoder=_Decoder(), keep_rows=frozenset({"incomplete"}))
    assert len(kept.kept) == 1


def test_a_truncated_answer_by_other_turns() -> None:
    """If earlier turns have an end token, an answer without one was truncated."""
    row = _train([ASKED, "A<|im_end|>", SEEN, "B"], "00110111")
    assert _read(row).lost == ["incomplete"]
    turns = ("user", ASKED), ("assistant", "A<|im_end|>"), ("user", ASKED), ("assistant", "B")
    assert _read(_val(*turns)).lost == ["incomplete"]


def test_an_end_that_nothing_tells() -> None:
    """Most texts lack special tokens, so the user is told if the end of answers is unknown."""
    assert _read(_train([ASKED, "A"], "011")).noticed == ["end_not_recorded"]
    assert _read(_val(("user", ASKED), ("assistant", "A"))).noticed == ["end_not_recorded"]
    assert not _read(_val(("user", ASKED), ("assistant", "A<|im_end|>"))).noticed


def test_training_and_validation_together() -> None:
    """Their rewards may differ, so the user must say whether they compete."""
    rows = _train([ASKED, "A"], "011"), _val(("user", ASKED), ("assistant", "A"))
    facts = CrossRowFacts()
    facts.add(_read(rows[0]).facts)
    facts.add(_read(rows[0]).facts)
    with pytest.raises(TwoReadings, match="of training and of validation"):
        facts.add(_read(rows[1]).facts)
    for by in ("file", "prompt"):
        assert not _read(rows[1], group_by=by).facts


def test_validation() -> None:
    """Validation logs have roles; examples in the prompt are not the model's answers."""
    (found,) = _read(_val(("user", ASKED), ("assistant", "A<|im_end|>"), ("environment", "x"))).kept
    assert (found.prompt, found.response) == (ASKED, "A")
    example = ("user", "q\n"), ("assistant", "a\n")
    (found,) = _read(_val(*example, ("user", ASKED), ("assistant", "A"))).kept
    assert (found.prompt, found.response) == ("q\na\n" + ASKED, "A")


def test_dynamic_sampling() -> None:
    """`rewards` is longer than the batch then, and belongs to other rows."""
    (found,) = _read(_train([ASKED, "A"], "011", filtered_rewards=[0.25])).kept
    assert found.score == 0.25


def test_agents_are_apart() -> None:
    """Rollouts of NeMo Gym name the agent, which is part of the group."""
    rows = [_train([ASKED, "A"], "011", agent_ref=[{"name": name}]) for name in "ab"]
    assert _read(rows[0]).kept[0].group != _read(rows[1]).kept[0].group


def test_runs_of_rows() -> None:
    """Generations of one prompt are consecutive; `idx` restarts in each file."""
    groups = [
        _read(_train([ASKED, "A"], "011", idx=number), label, group_by=("file", "idx//4")).kept
        for number, label in ((0, "a"), (3, "a"), (4, "a"), (0, "b"))
    ]
    assert [found[0].group for found in groups] == ['["a",0]', '["a",0]', '["a",1]', '["b",0]']
    with pytest.raises(BadField) as caught:
        _read(_train([ASKED, "A"], "011"), group_by=("rewards//4",))
    assert caught.value.field == "rewards"


def test_prompt_template() -> None:
    """With a template, the environment's turns are messages, too."""
    unrender = Unrenderer(CHATML)
    row = _train([ASKED, "A<|im_end|>", SEEN, "B<|im_end|>"], "00110111")
    (found,) = _read(row, unrender=unrender).kept
    assert found.prompt == [{"role": "user", "content": "Q"}]
    said = [("assistant", "A"), ("user", "seen"), ("assistant", "B")]
    assert found.response == [{"role": role, "content": content} for role, content in said]
    assert found.meta is None
    other = _train([ASKED, "A", "seen", "B<|im_end|>"], "00110111")
    assert _read(other, unrender=unrender).noticed == ["template_differs"]


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"rewards": [1, 2]}, "rewards"),
        ({"content": [[ASKED, 1]]}, "content.0.1"),
        ({"input_lengths": [9]}, "input_lengths"),
        ({"input_lengths": [None]}, "input_lengths"),
        ({"token_ids": [[-1, 2, 3]]}, "token_ids"),
        ({"idx": "x"}, "idx"),
    ],
)
def test_rows_of_another_shape_are_bad_rows(more: Row, field: str) -> None:
    """The error names the field."""
    with pytest.raises(BadField) as caught:
        _read(_train([ASKED, "A"], "011", **more))
    assert caught.value.field == field
