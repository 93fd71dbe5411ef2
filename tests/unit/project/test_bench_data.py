"""The generator of `make bench` gives the same bytes for the same arguments."""

import doctest
import json
import sys
from hashlib import blake2b
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[3] / "scripts"))

from bench.data.order import shuffled
from bench.data.plan import Plan
from bench.data.writing import chunks, write

DOCUMENTED = (
    "data.dice",
    "data.order",
    "data.plan",
    "data.words",
    "data.writing",
    "chart",
    "equality",
    "pages",
    "results",
    "tables",
)


@pytest.mark.parametrize("name", DOCUMENTED)
def test_doctests(name: str) -> None:
    """The examples in docstrings are correct."""
    failed, tried = doctest.testmod(import_module(f"bench.{name}"))
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize(
    ("plan", "digest"),
    [
        (Plan(rollouts=64), "cfa84dc6f264451e"),
        (Plan(rollouts=64, format="agentic"), "beaa817231d1301c"),
        (Plan(rollouts=64, format="agentic", script="chinese"), "429e0970917baf4d"),
        (Plan(rollouts=64, format="generic", rewards="binary"), "da44361d30b21f18"),
        (Plan(rollouts=64, format="lists"), "171f8f9b303a29e1"),
        (Plan(rollouts=64, format="objects"), "a420b48cb3982fb8"),
        (Plan(rollouts=64, format="nat", per_task=4), "016e73a0d0c25bf2"),
    ],
)
def test_bytes_are_held(plan: Plan, digest: str) -> None:
    """Digests are fixed, so that results of different machines can be compared."""
    assert blake2b(b"".join(chunks(plan)), digest_size=8).hexdigest() == digest


def test_shuffled_is_a_permutation() -> None:
    """Every number appears once, also if the size is no power of two."""
    for size in (1, 2, 3, 17, 64, 1000):
        assert sorted(shuffled(place, size, seed=3) for place in range(size)) == [*range(size)]


def test_order_changes_nothing_but_the_order() -> None:
    """Grouped rows are the shuffled ones, sorted."""
    grouped = [*chunks(Plan(rollouts=96, order="grouped"))]
    assert grouped != [*chunks(Plan(rollouts=96))]
    assert sorted(grouped) == sorted(chunks(Plan(rollouts=96)))
    assert [json.loads(line)["_ng_task_index"] for line in grouped] == [
        number // 8 for number in range(96)
    ]


def test_shares_and_lengths() -> None:
    """Escapes, non-ASCII letters and length have their effect."""
    plain = b"".join(chunks(Plan(rollouts=200, escapes=0, non_ascii=0)))
    assert plain.isascii()
    assert not b"".join(chunks(Plan(rollouts=200, escapes=0, non_ascii=0.1))).isascii()
    escaped = b"".join(chunks(Plan(rollouts=200, escapes=0.2, non_ascii=0)))
    assert escaped.count(b"\\frac") > 10 > plain.count(b"\\frac")
    long = b"".join(chunks(Plan(rollouts=200, escapes=0, non_ascii=0, answer_length=3200)))
    assert 2500 < (len(long) - len(plain)) / 200 < 3100


@pytest.mark.parametrize(("kind", "values"), [("binary", 2), ("graded", 5), ("distinct", 8)])
def test_rewards(kind: Any, values: int) -> None:
    """The number of distinct rewards is right; "distinct" means no ties within a task."""
    plan = Plan(rollouts=800, rewards=kind, order="grouped")
    rewards = [json.loads(line)["reward"] for line in chunks(plan)]
    assert len(set(rewards)) == values
    groups = [set(rewards[start : start + 8]) for start in range(0, 800, 8)]
    sizes = {len(group) for group in groups}
    assert sizes == {8} if kind == "distinct" else min(sizes) == 1


def test_rows_are_as_real_ones() -> None:
    """Rows have the shape of NeMo Gym's, and 2.4 KB on average."""
    lines = [*chunks(Plan(rollouts=400))]
    row = json.loads(lines[0])
    assert [item["type"] for item in row["response"]["output"]] == ["reasoning", "message"]
    assert row["responses_create_params"]["input"][0]["role"] == "user"
    assert 2300 < sum(map(len, lines)) / 400 < 2500


@pytest.mark.full
@pytest.mark.parametrize("script", ["latin", "chinese"])
def test_rows_of_agents_are_as_real_ones(script: Any) -> None:
    """Five to twenty items; each call has its result, both contain JSON. 17 KB on average."""
    lines = [*chunks(Plan(format="agentic", rollouts=400, script=script))]
    counts = set()
    for row in map(json.loads, lines):
        items = row["response"]["output"]
        kinds = [item["type"] for item in items]
        counts.add(len(items))
        steps = len(items) // 3
        step = ["reasoning", "function_call", "function_call_output"]
        assert kinds == [*step * steps, "reasoning", "message"]
        for call, result in zip(items[1::3], items[2::3], strict=False):
            assert call["call_id"] == result["call_id"]
            assert json.loads(call["arguments"]).keys() == {"record_id", "reason", "changes"}
            assert json.loads(result["output"])["record_id"]
        asked = row["responses_create_params"]
        assert [message["role"] for message in asked["input"]] == ["developer", "user"]
        assert row["response"]["tools"] == asked["tools"]
        assert len(asked["tools"]) == 6
    assert counts == {5, 8, 11, 14, 17, 20}
    assert 16_000 < sum(map(len, lines)) / 400 < 18_000
    share = sum(byte > 127 for line in lines for byte in line) / sum(map(len, lines))
    assert share < 0.01 if script == "latin" else share > 0.3


def test_nat_is_one_array(tmp_path: Path) -> None:
    """A JSON array of items with five turns, each with the requested number of candidates."""
    path = tmp_path / "workflow_output.json"
    write(Plan(format="nat", rollouts=24, per_task=4), path)
    items = json.loads(path.read_bytes())
    assert [len(item["intermediate_steps"]) for item in items] == [20, 4]
    data = items[0]["intermediate_steps"][5]["payload"]["data"]
    assert (data["turn_index"], data["candidate_index"]) == (1, 1)
    assert [*tmp_path.iterdir()] == [path]
