"""Trinity-RFT experiences to candidates: one test per rule and trap."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from prefpairs.errors import BadField
from prefpairs.fields.read_options import ReadOptions
from prefpairs.fields.row_outcome import RowOutcome
from prefpairs.model.candidate import Candidate
from prefpairs.model.message import Message
from prefpairs.sources.trinity import looks_like, open_reader

ASKED = "<|user|>Q<|assistant|>"
CHAT = [
    {"role": "system", "content": "S"},
    {"role": "user", "content": "Q"},
    {"role": "assistant", "content": "Look."},
    {"role": "user", "content": "A wall."},
    {"role": "assistant", "content": "Turn."},
]


class Letters:
    """A tokenizer with a token per letter; 9 ends a turn."""

    special = frozenset({9})
    size = 10

    def text(self, ids: Sequence[int]) -> str:
        """The text of tokens."""
        return "".join("0abcdefgh$"[number] for number in ids)


class Turned:
    """A template parser that knows one prompt."""

    def messages(self, text: str) -> list[Message] | None:
        """The messages of a prompt."""
        return [{"role": "user", "content": "Q"}] if text == ASKED else None


def _row(**more: Any) -> dict[str, Any]:
    eid = {"batch": 5, "task": 0, "run": 2, "step": 0, "suffix": "dbe565"}
    info = {"model_version": 5, "task_index": {"taskset_id": 0, "index": 17}}
    row = {"eid": eid, "type": "multi_turn", "prompt_length": 2, "response_length": 1}
    texts = {"prompt_text": ASKED, "response_text": "A", "reward": 1.0}
    found = {**row, "info": info, "metrics": {}, **texts, **more}
    return {key: value for key, value in found.items() if value is not None}


def _read(row: Any, **options: Any) -> RowOutcome:
    reader = open_reader([], ReadOptions(**options), "f.jsonl")
    return reader.read(json.dumps(row).encode())


def _kept(row: Any, **options: Any) -> Candidate:
    reading = _read(row, **options)
    assert (reading.lost, reading.row_lost) == ([], None)
    return reading.kept[0]


def test_looks_like() -> None:
    """Recognized by its identity and the length of its prompt."""
    assert looks_like(json.dumps(_row()).encode())
    others: list[Any] = [{"eid": "5/0"}, {"eid": {}}, {"prompt_length": 2}, [], 7]
    for row in others:
        assert not looks_like(json.dumps(row).encode())
    assert not looks_like(b'{"eid": {')


def test_candidate() -> None:
    """Rendered texts stay unchanged, including thinking; the run is the index."""
    assert _kept(_row(response_text="<think>hm</think>A")) == Candidate(
        group='["5","0"]',
        prompt=ASKED,
        response="<think>hm</think>A",
        score=1.0,
        index=2,
        meta={"step": 0, "model_version": 5, "sample": [0, 17], "prompt_rendered": True},
    )


@pytest.mark.parametrize("word", ["dpo", "single_turn", None])
def test_type_is_not_asked(word: str | None) -> None:
    """The type is ignored, since it is nearly always multi_turn."""
    assert _kept(_row(type=word)) == _kept(_row())


@pytest.mark.parametrize(
    ("eid", "group"),
    [
        ({"batch": "5", "task": "0"}, '["5","0"]'),
        ({"batch": "4/aime", "task": 0}, '["4/aime","0"]'),
        ({"batch": "4", "task": "aime/0"}, '["4","aime/0"]'),
        ({"task": "7-ruler"}, '["","7-ruler"]'),
        ({"batch": "", "task": ""}, "prompt:0244912077d85456ada69a2808929e04"),
        ({}, "prompt:0244912077d85456ada69a2808929e04"),
    ],
)
def test_group(eid: Any, group: str) -> None:
    """Batch and task as text; without both, the prompt."""
    assert _kept(_row(eid=eid)).group == group


@pytest.mark.parametrize(
    ("run", "index"), [(0, 0), ("client-7", None), (True, None), (2**64, None)]
)
def test_index(run: Any, index: int | None) -> None:
    """Clients of the server may name runs freely."""
    assert _kept(_row(eid={"batch": 1, "task": 1, "run": run})).index == index


@pytest.mark.parametrize(
    ("words", "group"),
    [
        (("tid",), '["5/0"]'),
        (("rid",), '["5/0/2"]'),
        (("sid",), '["5/0/0"]'),
        (("uid",), '["5/0/2/0/dbe565"]'),
        (("task",), '["5/0"]'),
        (("run",), '["5/0/2"]'),
        (("step",), '["5/0/0"]'),
        (("sample",), "[[0,17]]"),
        (("eid.batch", "sample"), "[5,[0,17]]"),
        (("info.model_version",), "[5]"),
    ],
)
def test_group_by(words: tuple[str, ...], group: str) -> None:
    """Keywords of the toolkit, one item of the data set, or paths."""
    assert _kept(_row(), group_by=words).group == group


def test_a_field_of_the_row_comes_before_a_word_of_ours() -> None:
    """A column `task` takes precedence over the keyword."""
    assert _kept(_row(task="mine"), group_by=("task",)).group == '["mine"]'


@pytest.mark.parametrize("word", ["task", "run", "step", "sample"])
def test_nothing_to_group_by(word: str) -> None:
    """Rows without an identity are dropped instead of being grouped together."""
    assert _read(_row(eid={}, info={}), group_by=(word,)).lost == ["no_group"]


IMAGE = {"type": "image_url", "image_url": {"url": "a.png"}}
SEEN: list[Any] = [
    {"role": "user", "content": [{"type": "text", "text": "What?"}, IMAGE]},
    {"role": "assistant", "content": "A cat."},
]
PIXELS: dict[str, Any] = {
    "multi_modal_input_keys": ["pixel_values"],
    "tokens": [1, 2, 3],
    "prompt_length": 2,
}


def test_images_that_messages_refer_to() -> None:
    """Images become part of the prompt, by reference; tokens that contain images are omitted."""
    kept = _kept(_row(messages=SEEN, prompt_text=None, response_text=None, **PIXELS))
    assert kept.prompt == SEEN[:1]
    assert (kept.response, kept.tokens) == (SEEN[1:], None)
    other = {**SEEN[0], "content": [{"type": "image_url", "image_url": {"url": "b.png"}}]}
    assert _kept(_row(messages=[other, SEEN[1]], **PIXELS)).prompt != kept.prompt
    text = [{"role": "user", "content": "What?"}, SEEN[1]]
    assert _read(_row(messages=text, **PIXELS)).lost == ["multi_modal"]


def test_masked_answers_about_images() -> None:
    """Masked answers are dropped, also if they are about images."""
    assert _read(_row(messages=SEEN, action_mask=[0], **PIXELS)).lost == ["masked"]


def test_pairs_about_images() -> None:
    """Pairs about images are read as single answers are, without their tokens."""
    sides: dict[str, Any] = {
        "chosen_messages": SEEN,
        "rejected_messages": [SEEN[0], {"role": "assistant", "content": "A dog."}],
    }
    (made,) = _read(_row(**sides, chosen=[4], rejected=[5], **PIXELS)).pairs
    assert (made.prompt, made.chosen_tokens) == (SEEN[:1], None)


def test_keep() -> None:
    """Everything that --group-by can name can be kept."""
    meta = _kept(_row(), keep=("task", "eid.suffix")).meta
    assert meta is not None
    assert (meta["task"], meta["eid.suffix"]) == ("5/0", "dbe565")


@pytest.mark.parametrize(
    ("more", "reasons"),
    [
        ({"truncate_status": "prompt_truncated"}, ["prompt_truncated"]),
        ({"truncate_status": "response_truncated"}, ["incomplete"]),
        ({"reward": None}, ["no_score"]),
        ({"reward": float("nan")}, ["score_not_finite"]),
        ({"response_text": None}, ["no_response"]),
        ({"response_text": " "}, ["empty_answer"]),
        ({"prompt_text": None}, ["no_prompt"]),
        ({"messages": CHAT[:2]}, ["no_response"]),
        ({"prompt_text": None, "tokens": [1, 2, 3]}, ["only_tokens"]),
        ({"response_text": None, "tokens": [1, 2, 3]}, ["only_tokens"]),
        ({"tokens": [1, 2, 3], "action_mask": [0]}, ["masked"]),
    ],
)
def test_losses(more: dict[str, Any], reasons: list[str]) -> None:
    """Each loss has its reason."""
    assert _read(_row(**more)).lost == reasons


def test_kept_on_request() -> None:
    """--keep-rows uses dropped experiences."""
    cut = _row(truncate_status="response_truncated", tokens=[1, 2, 3], action_mask=[0])
    assert _kept(cut, keep_rows=frozenset({"incomplete", "masked"})).response == "A"


@pytest.mark.parametrize(
    "options",
    [
        {"reasoning": "drop"},
        {"response_part": "final"},
        {"response": "info.edited"},
        {"prompt": "info.edited"},
    ],
)
def test_tokens_of_other_words_are_left_out(options: dict[str, Any]) -> None:
    """Tokens are of the sampled text, so they are dropped if options change the text."""
    row = _row(info={"edited": "E"}, tokens=[1, 2, 3])
    reading = _read(row, **options)
    assert (reading.kept[0].tokens, reading.noticed) == (None, ["tokens_left_out"])
    ready = {"chosen_messages": CHAT, "rejected_messages": WORSE, "reward": None}
    given = {**ready, "tokens": [1], "chosen": [2], "rejected": [3]}
    (pair,) = _read(_row(info={"edited": "E"}, **given), **options).pairs
    assert (pair.chosen_tokens, pair.rejected_tokens) == (None, None)


@pytest.mark.parametrize(
    "options", [{}, {"group_by": ("sample",)}, {"group_by": "prompt"}, {"group_by": "file"}]
)
def test_prompts_of_other_tokens_never_meet(options: dict[str, Any]) -> None:
    """Without text of their own, prompts are compared by tokens, whatever --group-by is."""
    named = {"prompt": "info.asked", **options}
    rows = [
        _row(prompt_text=None, info={"asked": "P", "task_index": {"taskset_id": 0, "index": 17}})
        | tokens
        for tokens in ({"tokens": [1, 3], "prompt_length": 1}, {"tokens": [2, 2, 3]})
    ]
    one, other = (_kept(row, **named) for row in rows)
    assert (one.prompt == other.prompt, one.group == other.group) == (True, False)
    one, other = (_kept({**row, "messages": CHAT}, **options) for row in rows)
    assert (one.prompt == other.prompt, one.group == other.group) == (True, True)


WORSE = [*CHAT[:4], {"role": "assistant", "content": "Wait."}]


def _ready(**more: Any) -> dict[str, Any]:
    return _row(**{"chosen_messages": CHAT, "rejected_messages": WORSE, "reward": None, **more})


def test_ready_pair() -> None:
    """A DPO experience is a pair, whatever its type; the shared turns are the prompt."""
    reading = _read(_ready(tools=[{"type": "function"}]))
    assert (reading.kept, reading.lost, reading.pairs_lost) == ([], [], [])
    (pair,) = reading.pairs
    assert (pair.prompt, pair.chosen, pair.rejected) == (CHAT[:4], CHAT[4:], WORSE[4:])
    assert (pair.chosen_score, pair.rejected_score, pair.gap) == (None, None, None)
    assert (pair.group, pair.tools) == ('["5","0"]', [{"type": "function"}])
    assert pair.meta == {"step": 0, "model_version": 5, "sample": [0, 17]}
    assert (pair.chosen_tokens, pair.rejected_tokens) == (None, None)


def test_ready_pair_with_options() -> None:
    """The group and meta of a ready-made pair follow the options."""
    (pair,) = _read(_ready(), group_by=("run",), keep=("eid.suffix",)).pairs
    assert (pair.group, pair.meta and pair.meta["eid.suffix"]) == ('["5/0/2"]', "dbe565")
    nameless = {"batch": "", "task": "", "run": 0, "step": 0}
    assert _read(_ready(eid=nameless)).pairs[0].group.startswith("prompt:")


def test_ready_pair_with_tokens() -> None:
    """The tokens of the prompt, and of each side after it."""
    (pair,) = _read(_ready(tokens=[1, 2], chosen=[3], rejected=[4.0, 5])).pairs
    assert pair.chosen_tokens == {"ids": [1, 2, 3], "prompt_length": 2, "mask": [1]}
    assert pair.rejected_tokens == {"ids": [1, 2, 4, 5], "prompt_length": 2, "mask": [1, 1]}
    (pair,) = _read(_ready(tokens=[1, 2], chosen=[3])).pairs
    assert (pair.chosen_tokens is None, pair.rejected_tokens) == (False, None)
    with pytest.raises(BadField, match="rejected"):
        _read(_ready(tokens=[1, 2], chosen=[3], rejected=[-1]))


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"truncate_status": "prompt_truncated"}, "prompt_truncated"),
        ({"multi_modal_input_keys": ["pixels"]}, "multi_modal"),
        ({"rejected_messages": CHAT}, "sides_equal"),
        (
            {"rejected_messages": [{"role": "user", "content": "P"}, *CHAT[2:3]]},
            "environment_differs",
        ),
        ({"rejected_messages": CHAT[:2]}, "empty_answer"),
        ({"rejected_messages": []}, "empty_answer"),
    ],
)
def test_ready_pairs_that_are_unfit(more: dict[str, Any], reason: str) -> None:
    """Each such pair is dropped with a reason, and its answers give no candidates."""
    reading = _read(_ready(**more))
    assert (reading.pairs, reading.pairs_lost, reading.kept, reading.lost) == ([], [reason], [], [])


def test_tools_next_to_a_rendered_prompt_are_ignored() -> None:
    """A rendered prompt already includes the tools, so the column is ignored."""
    rows = [_row(tools=[{"type": "function", "function": {"name": name}}]) for name in "fg"]
    assert [_kept(row).tools for row in rows] == [None, None]


def test_messages() -> None:
    """The prompt ends at the first assistant turn; everything after is the run."""
    row = _row(messages=CHAT, tools=[{"type": "function"}], prompt_text=None, response_text=None)
    candidate = _kept(row)
    assert (candidate.prompt, candidate.response) == (CHAT[:2], CHAT[2:])
    assert candidate.tools == [{"type": "function"}]


def test_tokens() -> None:
    """Tokens are kept; a mask of the whole length is cut to the answer."""
    field = {"ids": [1, 2, 3], "prompt_length": 2, "mask": [1]}
    for mask in ([True], [1.0], [0, 0, 1]):
        candidate = _kept(_row(tokens=[1, 2.0, 3], action_mask=mask))
        assert (candidate.tokens, candidate.group) == (field, '["5","0"]')
    assert _kept(_row(tokens=[1, 2, 3])).tokens == {"ids": [1, 2, 3], "prompt_length": 2}


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"eid": 7}, "eid"),
        ({"eid": {"batch": [5]}}, "eid.batch"),
        ({"eid": {"task": True}}, "eid.task"),
        ({"prompt_text": 7}, "prompt_text"),
        ({"response_text": ["A"]}, "response_text"),
        ({"reward": "1"}, "reward"),
        ({"messages": "Q"}, "messages"),
        ({"tokens": "abc"}, "tokens"),
        ({"tokens": [1, -2]}, "tokens"),
        ({"tokens": [1, 2.5]}, "tokens"),
        ({"tokens": [1, float("nan")]}, "tokens"),
        ({"tokens": [1, 2**32]}, "tokens"),
        ({"tokens": [[1], [2]]}, "tokens"),
        ({"tokens": [1]}, "prompt_length"),
        ({"tokens": [], "prompt_length": 0}, "prompt_length"),
        ({"tokens": [1, 2], "prompt_length": True}, "prompt_length"),
        ({"tokens": [1, 2, 3], "action_mask": [1, 1]}, "action_mask"),
        ({"tokens": [1, 2, 3], "action_mask": [2]}, "action_mask"),
    ],
)
def test_wrong_types(more: dict[str, Any], field: str) -> None:
    """The row is bad, and the field is named."""
    with pytest.raises(BadField) as caught:
        _read(_row(**more))
    assert caught.value.field == field


def test_text_of_tokens() -> None:
    """Missing text is decoded from tokens, without the end-of-turn token."""
    row = _row(prompt_text=None, tokens=[1, 9, 2, 9, 3, 9, 9], prompt_length=3)
    candidate = _kept(row, decoder=Letters())
    assert (candidate.prompt, candidate.response) == ("a$b", "$c")
    assert candidate.group == '["5","0","6001210279243853440e5531834c0f64"]'
    other = _kept({**row, "tokens": [1, 9, 3, 2, 9]}, decoder=Letters())
    assert other.group != candidate.group


def test_tokens_that_the_tokenizer_does_not_know() -> None:
    """Unknown token IDs are rejected, since they indicate another model's tokenizer."""
    with pytest.raises(BadField) as caught:
        _read(_row(prompt_text=None, tokens=[1, 2, 10]), decoder=Letters())
    assert caught.value.value == 10


def test_a_space_in_front_of_an_answer_stays() -> None:
    """The space is kept even if the tokenizer drops spaces at the start of a text."""

    class Spaces(Letters):
        def text(self, ids: Sequence[int]) -> str:
            return " ".join(super(Spaces, self).text([number]) for number in ids)

    row = _row(prompt_text=None, tokens=[1, 2, 3], prompt_length=2)
    assert _kept(row, decoder=Spaces()).response == " c"


def test_prompt_template() -> None:
    """The prompt becomes messages, and the answer's thinking is recognized."""
    candidate = _kept(_row(response_text="<think>hm</think>A"), unrender=Turned())
    assert candidate.prompt == [{"role": "user", "content": "Q"}]
    assert candidate.response == [{"role": "assistant", "content": "A", "reasoning_content": "hm"}]


def test_another_template() -> None:
    """A prompt that the template did not render stays text, and is counted."""
    reading = _read(_row(prompt_text="Q: ?"), unrender=Turned())
    assert (reading.kept[0].prompt, reading.noticed) == ("Q: ?", ["template_differs"])


def test_note_on_rendered_prompts() -> None:
    """A note appears if prompts are rendered and no option parses them."""
    row = json.dumps(_row()).encode()
    assert len(open_reader([row], ReadOptions(), "f").notes) == 1
    assert open_reader([row], ReadOptions(unrender=Turned()), "f").notes == ()
    assert open_reader([row], ReadOptions(prompt="messages"), "f").notes == ()


def test_rows_with_words_and_with_tokens_are_one_rollout() -> None:
    """JSON lines and frames of one run give the same candidate, except for tokens."""
    plain = _row(messages=CHAT, prompt_text=None)
    framed = {**plain, "tokens": [1, 2, 3], "prompt_length": 2}
    line, frame = _kept(plain), _kept(framed)
    assert frame.tokens is not None
    assert line == frame._replace(tokens=None)
