"""Rollouts of SkyRL to candidates: one test per rule."""

import json
from typing import Any

import pytest

from prefpairs.chat.unrender import Unrenderer
from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.rendered_turns import turns_in, without_end
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.sources.detect import source_of
from prefpairs.sources.skyrl import open_reader

ASKED = "<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\n"
SEEN = "\n<|im_start|>user\nseen<|im_end|>\n<|im_start|>assistant\n"
CHATML = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{{- '<|im_start|>assistant\\n' if add_generation_prompt }}"
)


def _row(**more: Any) -> dict[str, Any]:
    row = {"input_prompt": ASKED, "output_response": "A<|im_end|>", "score": 0.5}
    row |= {"stop_reason": "stop", "env_class": "e", "env_extras": {"a": 1}, "data_source": "d"}
    return {**row, **more}


def _read(row: dict[str, Any], **options: Any) -> RowOutcome:
    return open_reader([], ReadOptions(**options), "f.jsonl").read(json.dumps(row).encode())


def test_a_row_is_a_candidate() -> None:
    """The prompt is rendered text; the answer has no end-of-turn token."""
    (found,) = _read(_row()).kept
    assert (found.prompt, found.response, found.score) == (ASKED, "A", 0.5)
    assert found.meta == {"prompt_rendered": True}
    assert source_of(json.dumps(_row()).encode()) == "skyrl"


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"stop_reason": "length"}, "incomplete"),
        ({"stop_reason": "max_turns"}, "incomplete"),
        ({"stop_reason": "error"}, "failed"),
        ({"score": None}, "no_score"),
        ({"score": []}, "no_score"),
        ({"output_response": None}, "no_response"),
        ({"output_response": "<|im_end|>"}, "empty_answer"),
        ({"input_prompt": None}, "no_prompt"),
    ],
)
def test_rollouts_that_are_dropped(more: dict[str, Any], reason: str) -> None:
    """Such rollouts are dropped, whatever their score."""
    assert _read(_row(**more)).lost == [reason]


@pytest.mark.parametrize(("reason", "stop"), [("failed", "abort"), ("incomplete", "length")])
def test_keep_rows(reason: str, stop: str) -> None:
    """--keep-rows uses dropped rollouts."""
    assert _read(_row(stop_reason=stop), keep_rows=frozenset({reason})).kept


def test_rewards_of_tokens() -> None:
    """Rewards per token are summed, also if --score names them."""
    row = _row(score=[0.0, 0.25, 0.5])
    assert _read(row).kept[0].score == 0.75
    assert _read(row, scores=(("score", 2.0),)).kept[0].score == 1.5
    with pytest.raises(BadField) as caught:
        _read(_row(score=[0.0, "1"]))
    assert caught.value.field == "score.1"


def test_hidden_tasks_are_apart() -> None:
    """Rows with the same prompt but other data for the environment have other groups."""
    rows = [_row(), _row(env_extras={"a": 2}), _row(data_source="c"), _row(env_class="f")]
    assert len({_read(row).kept[0].group for row in rows}) == 4


def test_several_turns() -> None:
    """Environment turns are separate from the model's; with the template, they are messages."""
    row = _row(output_response=f"A<|im_end|>{SEEN}B<|im_end|>")
    (found,) = _read(row).kept
    assert [turn["content"] for turn in found.response] == ["A", SEEN, "B"]  # type: ignore[index]
    (found,) = _read(row, unrender=Unrenderer(CHATML)).kept
    assert found.prompt == [{"role": "user", "content": "Q"}]
    said = [("assistant", "A"), ("user", "seen"), ("assistant", "B")]
    assert found.response == [{"role": role, "content": content} for role, content in said]


@pytest.mark.parametrize(
    ("asked", "said", "turns"),
    [
        (ASKED, "A", ["A"]),
        ("Q", f"A<|im_end|>{SEEN}B", [f"A<|im_end|>{SEEN}B"]),
        (ASKED, f"A{SEEN.replace('<|im_end|>', '')}B", [f"A{SEEN.replace('<|im_end|>', '')}B"]),
        (ASKED, f"A<|im_end|>{SEEN}B", ["A<|im_end|>", SEEN, "B"]),
    ],
)
def test_turns_in_an_answer(asked: str, said: str, turns: list[str]) -> None:
    """Turns are found by the prompt's own generation prompt and end-of-turn tokens."""
    assert turns_in(asked, said) == turns


@pytest.mark.parametrize(
    ("text", "said"),
    [("A<|im_end|>\n", "A"), ("A</s><|endoftext|>", "A"), ("A<|im_end|> B", "A<|im_end|> B")],
)
def test_the_end_of_an_answer(text: str, said: str) -> None:
    """The end-of-turn token is removed, since templates add it again."""
    assert without_end(text) == said
