"""Export: whatever the pairs and the trainer, the rows can be trained on."""

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from hypothesis import given
from hypothesis import strategies as st
from run_in_process import Collected, Row, lines_of

from hypothesis_examples import examples
from prefpairs.chat.model_spans import ChatRenderer
from prefpairs.chat.token_ids import Tokenization
from prefpairs.dataset.column_types import shape_of
from prefpairs.dataset.convert_pair import LOSSY
from prefpairs.dataset.row_checks import check_row
from prefpairs.dataset.row_rules import Effect
from prefpairs.engine.pairs.pair_io import WHOLE
from prefpairs.engine.pairs.pairs_from_trainer_rows import unwrap
from prefpairs.files.input_paths import find_inputs
from prefpairs.ledger import Ledger, StageCounts
from prefpairs.model.identity import digest_response
from prefpairs.plan import ExportPlan, InputPlan, Plan
from prefpairs.reasons import ALL, PAIR_NOTICES
from prefpairs.targets import PAIR_FORMATS, TARGETS, target_named
from prefpairs.targets.base import Target
from prefpairs.targets.export_options import ExportOptions
from run_plans import run_plan

LETTERS = Tokenization(
    encode=lambda text: ([*map(ord, text)], [(place, place + 1) for place in range(len(text))]),
    chat=ChatRenderer(
        "{%- for m in messages %}{{- '<' + m.role + '>' }}"
        "{{- (m.reasoning_content or '') + m.content }}"
        "{{- m.tool_calls | tojson if m.tool_calls }}{{- '</>' }}{%- endfor %}"
        "{{- '<assistant>' if add_generation_prompt }}",
        {},
    ),
)
"""A token for each character of a chat."""

CHANCE = st.randoms(use_true_random=False)

# Pairs ------------------------------------------------------------------------------------

_TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
_SOUND = ['{"a": 1}', '{"a":1}', '{"a": "x", "b": [1.5]}', '{"a": {"b": null}}', "{}"]
_SOUND += ['{"a":1,"a":2}']
_BROKEN = ['{"a": "to', "[1]", "", "null"]
_WORDS = ["Aye", "Bye", "Aye", "Cue", "Aye Bye", " Aye\n", "2", "<think>hm</think>Aye"]
_THOUGHTS = [None, None, None, "hm", "ho"]
_PICTURE = [{"type": "image_url", "image_url": {"url": "u"}}, {"type": "text", "text": "Q"}]
_USER = {"role": "user", "content": "Q"}
_SYSTEM = {"role": "system", "content": "Be brief."}
_PROMPTS: list[Any] = [
    "Q",
    "R",
    [_USER],
    [{"role": "user", "content": [{"type": "text", "text": "R"}]}],
    [_SYSTEM, _USER],
    [_SYSTEM, {**_SYSTEM, "role": "developer"}, _USER, {**_USER, "name": "Ann"}],
    [_USER, {"role": "assistant", "content": "A", "reasoning_content": "hm"}, _USER],
    [_USER, {"role": "assistant", "content": "<think>hm</think>"}, _USER],
    [_USER, {"role": "assistant", "content": "So"}],
    [_USER, _SYSTEM],
    [{"role": "assistant", "content": "Hello"}, _USER],
    [_SYSTEM],
    [{"role": "user", "content": _PICTURE}],
]
_SCORES: list[Row] = [
    {"chosen_score": 1, "rejected_score": 0},
    {"chosen_score": 0.9, "rejected_score": 0.8},
    {"chosen_score": 1.0},
    {"gap": 2},
    {},
]
_TRAPS: list[Row] = [
    {"margin": 0.5, "images": None, "label": 1, "task_name": "t"},
    {"image": "u", "ref_chosen_logps": -1.0, "chat_template_kwargs": {}, "completion": "A"},
    {},
]
RESERVED = {"margin", "image", "images", "task_name", "chat_template_kwargs", "label"}
RESERVED |= {"completion", "messages", "ref_chosen_logps", "ref_rejected_logps"}
ALLOWED = {
    "trl-kto": {"label", "completion"},
    "ms-swift": {"messages"},
    "axolotl": {"messages"},
    "ultrafeedback": {"messages"},
}


@st.composite
def _step(draw: st.DrawFn, arguments: Sequence[str]) -> list[Row]:
    """An assistant turn, perhaps followed by a tool result or a user turn."""
    said: Row = {"role": "assistant", "content": draw(st.sampled_from(_WORDS))}
    if thought := draw(st.sampled_from(_THOUGHTS)):
        said["reasoning_content"] = thought
    calls = draw(st.lists(st.sampled_from(arguments), max_size=2)) if draw(st.booleans()) else []
    if not calls:
        return draw(st.sampled_from([[said], [said], [said, _USER], [said, said]]))
    said["content"] = draw(st.sampled_from(["", "Aye"]))
    said["tool_calls"] = [
        {"id": f"x{at}", "type": "function", "function": {"name": "add", "arguments": given}}
        for at, given in enumerate(calls)
    ]
    told = [
        {"role": "tool", "content": draw(st.sampled_from("12")), "tool_call_id": f"x{at}"}
        for at in range(len(calls))
    ]
    return [said, *(told if draw(st.integers(0, 3)) else [])]


@st.composite
def pair_row(
    draw: st.DrawFn,
    arguments: Sequence[str] = (*_SOUND, *_BROKEN),
    prompts: Sequence[Any] = _PROMPTS,
) -> Row:
    """A pair of trajectories that share some steps; one may be a prefix of the other."""
    shared, one, other = (
        [turn for step in draw(st.lists(_step(arguments), max_size=most)) for turn in step]
        for most in (1, 2, 2)
    )
    if not draw(st.integers(0, 3)):
        other = [*one, *other]
    answers: list[Any] = [[*shared, *one], [*shared, *other]]
    if not draw(st.integers(0, 2)):
        answers = draw(st.lists(st.sampled_from(["Aye", "Bye", "Cue"]), min_size=2, max_size=2))
    row = {"prompt": draw(st.sampled_from(prompts)), "chosen": answers[0], "rejected": answers[1]}
    if draw(st.booleans()):
        row["tools"] = _TOOLS
    return {**row, **draw(st.sampled_from(_SCORES)), **draw(st.sampled_from(_TRAPS))}


PLAIN_PAIRS = st.lists(
    st.fixed_dictionaries(
        {
            "prompt": st.sampled_from(["Q", "R", [_USER], [_SYSTEM, _USER]]),
            "chosen": st.sampled_from(["Aye", "Bye", [{"role": "assistant", "content": "Aye"}]]),
            "rejected": st.sampled_from(["Aye", "Cue", " Cue", " Aye\n"]),
            "chosen_score": st.sampled_from([None, 1, 0.9]),
            "rejected_score": st.sampled_from([None, 0, 0.8]),
        }
    ),
    max_size=6,
)
PAIRS_IN = st.one_of(PLAIN_PAIRS, *[st.lists(pair_row(), max_size=6)] * 3)
UNGREETED_PAIRS = st.lists(pair_row(prompts=[*_PROMPTS[:10], *_PROMPTS[11:]]), max_size=6)
SOUND_PAIRS = st.lists(pair_row(_SOUND, _PROMPTS[:9]), max_size=6)

# Options ----------------------------------------------------------------------------------


class Asked(NamedTuple):
    """A target with its options."""

    target: Target
    options: ExportOptions


@st.composite
def asked_of(draw: st.DrawFn, names: Sequence[str] = tuple(TARGETS)) -> Asked:
    """Every target, with all options that it knows."""
    target = target_named(draw(st.sampled_from(names)))
    if target.hosts:
        host = draw(st.sampled_from([*target.hosts.values()]))
        target = replace(target, **host._asdict())
    calls = target.supports.calls and target.name != "llamafactory"
    options = ExportOptions(
        turns=draw(st.sampled_from(["auto", "first"] if target.single else ["auto", "all"])),
        lossy=draw(st.sampled_from(["flatten", "flatten", "drop"])),
        tool_args=draw(
            st.sampled_from(["dict", "string"] if calls and target.templated else ["string"])
        ),
        reasoning_as=draw(
            st.sampled_from(["text", "nothing", *(["field"] if target.supports.reasoning else [])])
        ),
        system=draw(st.sampled_from(["keep", "merge"])),
        text="text" in target.words and not draw(st.integers(0, 4)),
        last_message="last_message" in target.words and draw(st.booleans()),
        release=draw(st.sampled_from(target.releases)) if target.releases else "",
        tokenization=LETTERS if target.name == "tokens" else None,
    )
    return Asked(target, options)


class Exported(NamedTuple):
    """The rows of a run by split, and its counts."""

    files: Mapping[str, list[bytes]]
    ledger: Ledger

    @property
    def stage(self) -> StageCounts:
        """The ledger of the export."""
        return self.ledger.stages[-1]

    @property
    def lines(self) -> list[bytes]:
        """The rows of all splits."""
        return [line for side, lines in self.files.items() if _is_side(side) for line in lines]

    @property
    def rows(self) -> list[Row]:
        """The same, as objects."""
        return [json.loads(line) for line in self.lines]

    def contents(self, without: str = "") -> list[str]:
        """The rows sorted, without one column."""
        rows = [{key: row[key] for key in row if key != without} for row in self.rows]
        return sorted(json.dumps(row, sort_keys=True) for row in rows)


def _is_side(name: str) -> bool:
    return name in (WHOLE, "train", "val", "test")


def export_shards(shards: Sequence[Sequence[bytes]], asked: Asked) -> Exported:
    """Export lines in several files to one output."""
    return _export(shards, [WHOLE] * len(shards), asked, [WHOLE])


def export_lines(lines: Sequence[bytes], asked: Asked) -> Exported:
    """Export the lines of one file to one output."""
    return export_shards([lines], asked)


def export_rows(rows: Sequence[Row], asked: Asked) -> Exported:
    """The same for rows."""
    return export_lines(lines_of(*rows), asked)


def export_folder(train: Sequence[Row], val: Sequence[Row], asked: Asked) -> Exported:
    """Export two splits, with the files next to them."""
    names = ["train", "val", *asked.target.extra_names]
    return _export([lines_of(*train), lines_of(*val)], ["train", "val"], asked, names)


def _export(
    shards: Sequence[Sequence[bytes]], sides: Sequence[str], asked: Asked, names: Sequence[str]
) -> Exported:
    ledger, outputs = Ledger(), {name: Collected() for name in names}
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, f"part-{place}.jsonl") for place in range(len(shards))]
        for path, lines in zip(paths, shards, strict=True):
            path.write_bytes(b"".join(lines))
        inputs = find_inputs([str(path) for path in paths])
        plan = Plan(
            read=InputPlan(inputs=inputs),
            sides=dict(zip(inputs, sides, strict=True)),
            export=ExportPlan(target=asked.target, options=asked.options),
        )
        run_plan(plan, outputs, ledger, allow_empty=True)
    return Exported({name: output.lines for name, output in outputs.items()}, ledger)


# The content of a row ---------------------------------------------------------------------


class Said(NamedTuple):
    """The prompt of a row and its two answers."""

    prompt: list[Row]
    chosen: list[Row]
    rejected: list[Row]


def said_in(row: Row, name: str) -> Said:
    """The messages of a target's row, read without prefpairs code."""
    if name == "nemo-rl-ranked":
        return Said(row["context"], *(each["completion"] for each in row["completions"]))
    if name == "openai":
        return Said(row["input"]["messages"], row["preferred_output"], row["non_preferred_output"])
    if name in ("ms-swift", "ultrafeedback"):
        one = row["chosen" if name == "ultrafeedback" else "messages"]
        other = row["rejected" if name == "ultrafeedback" else "rejected_messages"]
        shared = sum(
            1 for _ in takewhile(lambda both: both[0] == both[1], zip(one, other, strict=False))
        )
        while one[shared - 1]["role"] == "assistant" or shared >= min(len(one), len(other)):
            shared -= 1
        return Said(one[:shared], one[shared:], other[shared:])
    if name == "llamafactory":
        turns = [*row["conversations"], row["chosen"], row["rejected"]]
        *before, better, worse = map(_as_message, turns)
        return Said(before, [better], [worse])
    if name == "nat":
        (row,) = row["episode"]
    chosen: Any = row.get("chosen", row.get("chosen_response"))
    rejected: Any = row.get("rejected", row.get("rejected_response"))
    prompt = row["messages"] if name == "axolotl" else row["prompt"]
    return Said(_chat(prompt, "user"), _chat(chosen, "assistant"), _chat(rejected, "assistant"))


def _as_message(turn: Row) -> Row:
    roles = {"human": "user", "gpt": "assistant", "function_call": "assistant"}
    role = roles.get(turn["from"], turn["from"])
    if turn["from"] == "function_call":
        function = {"name": turn["value"], "arguments": ""}
        return {"role": role, "content": "", "tool_calls": [{"function": function}]}
    return {"role": role, "content": turn["value"]}


def _chat(text: Any, role: str) -> list[Row]:
    if isinstance(text, dict):
        return [text]
    return [{"role": role, "content": text}] if isinstance(text, str) else text


# The laws ---------------------------------------------------------------------------------

PAIRED = [name for name in TARGETS if name not in ("trl-kto", "tokens")]
TYPED = [name for name in TARGETS if target_named(name).typed]
READABLE = list(PAIR_FORMATS)


@given(PAIRS_IN, asked_of(PAIRED))
@examples(250)
def test_rows_can_be_trained_on(rows: list[Row], asked: Asked) -> None:
    """Two different, non-empty assistant answers to a prompt that ends before an assistant turn."""
    for row in export_rows(rows, asked).rows:
        prompt, chosen, rejected = said_in(row, asked.target.name)
        assert prompt
        assert prompt[-1]["role"] != "assistant"
        assert chosen != rejected
        assert digest_response(_plain(chosen)) != digest_response(_plain(rejected))
        for answer in (chosen, rejected):
            assert answer[0]["role"] == answer[-1]["role"] == "assistant"
            assert any(_says(turn) for turn in answer if turn["role"] == "assistant")
            if asked.options.turns != "all":
                assert {turn["role"] for turn in answer} == {"assistant"}


def _plain(answer: list[Row]) -> list[Row]:
    """An answer with call arguments as text, as in a pair."""
    return [
        {**turn, "tool_calls": [_plain_call(call) for call in turn.get("tool_calls", [])]}
        for turn in answer
    ]


def _plain_call(call: Row) -> Row:
    arguments = call["function"]["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return {**call, "function": {**call["function"], "arguments": text}}


def _says(turn: Row) -> bool:
    """Whether a turn has text or calls besides its reasoning."""
    words = re.sub(r"\A<think>.*?</think>", "", turn["content"], flags=re.DOTALL)
    return bool(words.strip() or turn.get("tool_calls"))


@given(UNGREETED_PAIRS, asked_of())
@examples(250)
def test_validate_finds_nothing(rows: list[Row], asked: Asked) -> None:
    """`validate`, by its own rules, finds nothing wrong with any exported row."""
    options = replace(asked.options, turns="auto")
    if asked.target.releases:
        options = replace(options, release=asked.target.releases[-1])
    for row in export_rows(rows, Asked(asked.target, options)).rows:
        found = check_row(row, asked.target.rules)
        assert [finding for finding in found if finding.effect is not Effect.WARNING] == []


@given(PAIRS_IN, asked_of())
@examples(150)
def test_nothing_vanishes(rows: list[Row], asked: Asked) -> None:
    """Every pair is written or dropped for a known reason, and rows match the pairs."""
    found = export_rows(rows, asked)
    ledger, stage = found.ledger, found.stage
    assert ledger.rows_read == ledger.rows_used + ledger.rows_dropped.total() == len(rows)
    assert stage.found == ledger.rows_used == stage.kept + stage.dropped.total()
    assert ledger.pairs == stage.kept
    assert stage.dropped.keys() <= ALL.keys()
    assert stage.noticed.keys() <= PAIR_NOTICES.keys()
    if asked.options.lossy == "drop":
        assert not stage.noticed.keys() & LOSSY
    left_out = stage.noticed["answer_repeated"] + stage.noticed["label_contradicted"]
    answers = 2 * ledger.pairs - left_out if asked.target.unpaired else ledger.pairs
    assert len(found.rows) == answers


@given(PAIRS_IN, asked_of(), CHANCE, st.integers(1, 3))
@examples(200)
def test_order_does_not_matter(rows: list[Row], asked: Asked, chance: Random, count: int) -> None:
    """Lines in another order and in other files give the same rows and counts."""
    expected = export_rows(rows, asked)
    shuffled = lines_of(*rows)
    chance.shuffle(shuffled)
    found = export_shards([shuffled[at::count] for at in range(count)], asked)
    if asked.target.unpaired:  # which of several scores an answer gets is not defined
        assert found.contents("score") == expected.contents("score")
        return
    assert found.contents() == expected.contents()
    assert found.stage == expected.stage


@given(PLAIN_PAIRS, CHANCE)
@examples(100)
def test_answers_one_by_one_have_an_order_of_their_own(rows: list[Row], chance: Random) -> None:
    """For trl-kto, even the order of rows does not depend on that of the pairs (without scores)."""
    texts = [{key: row[key] for key in ("prompt", "chosen", "rejected")} for row in rows]
    expected = export_rows(texts, _plainly("trl-kto")).lines
    chance.shuffle(texts)
    assert export_rows(texts, _plainly("trl-kto")).lines == expected


@given(PAIRS_IN, PAIRS_IN, asked_of())
@examples(100)
def test_same_in_same_out(train: list[Row], val: list[Row], asked: Asked) -> None:
    """The same export gives the same bytes in every file."""
    assert export_folder(train, val, asked).files == export_folder(train, val, asked).files


@given(PAIRS_IN, PAIRS_IN, asked_of())
@examples(150)
def test_columns(train: list[Row], val: list[Row], asked: Asked) -> None:
    """All rows of all splits have the same columns, no reserved names, and floats as scores."""
    found = export_folder(train, val, asked)
    assert len({tuple(row) for row in found.rows}) <= 1
    name = asked.target.name
    for row in found.rows:
        assert not row.keys() & (RESERVED - ALLOWED.get(name, set()))
        assert row.keys() <= asked.target.columns.keys()
        scores = [row[key] for key in row if "score" in key or "reward" in key]
        assert {type(score) for score in scores} <= {float, type(None)}


@given(PAIRS_IN, asked_of(TYPED))
@examples(200)
def test_first_rows_tell_all_types(rows: list[Row], asked: Asked) -> None:
    """Rows with new types come first, without other rows in between."""
    seen: set[str] = set()
    brought = []
    for row in export_rows(rows, asked).rows:
        filled = {key: value for key, value in row.items() if value != asked.target.columns[key]}
        shape = shape_of(filled)
        brought.append(not shape <= seen)
        seen |= shape
    assert brought == sorted(brought, reverse=True)


@given(SOUND_PAIRS, asked_of(READABLE))
@examples(250)
def test_there_and_back(rows: list[Row], asked: Asked) -> None:
    """Rows that are read back and exported again are the same, except for the pair's ID."""
    options = replace(asked.options, text=False, system="keep")
    if options.turns == "all":
        options = replace(options, reasoning_as="text")
    asked = Asked(asked.target, options)
    once = export_rows(rows, asked)
    again = _exported_again(once, asked)
    assert again.contents("pair_id") == once.contents("pair_id")
    assert _exported_again(again, asked).contents() == again.contents()
    assert not again.ledger.rows_dropped
    assert not again.stage.dropped


def _exported_again(written: Exported, asked: Asked) -> Exported:
    """The result of exporting rows that were read in their own format."""
    pairs = [unwrap(row, asked.target.name) for row in written.rows]
    return export_rows(pairs, asked)


@given(PLAIN_PAIRS, st.sampled_from(READABLE), st.sampled_from(READABLE))
@examples(150)
def test_from_one_format_to_another(rows: list[Row], name: str, other: str) -> None:
    """Texts are the same after a detour through another trainer's format."""
    first = export_rows(rows, _plainly(name)).rows
    through = export_rows([unwrap(row, "auto") for row in first], _plainly(other)).rows
    straight = export_rows(rows, _plainly(other)).rows
    if name == other or "axolotl" not in (name, other):  # it trims answers and omits some
        assert _said(through, other) == _said(straight, other)


def _said(rows: list[Row], name: str) -> list[str]:
    return sorted(json.dumps(said_in(row, name)) for row in rows)


@given(PLAIN_PAIRS)
@examples(50)
def test_from_trl_to_nemo_rl(rows: list[Row]) -> None:
    """Row for row what a direct export to NeMo RL would write."""
    trl = export_rows(rows, _plainly("trl")).rows
    through = export_rows([unwrap(row, "auto") for row in trl], _plainly("nemo-rl"))
    assert through.contents() == export_rows(rows, _plainly("nemo-rl")).contents()


def _plainly(name: str) -> Asked:
    """A target with default options."""
    target = target_named(name)
    release = target.releases[-1] if target.releases else ""
    return Asked(target, ExportOptions(tool_args=target.tool_args, release=release))
