"""Trinity-RFT: folders of conversations with roles and texts, and ready-made pairs."""

import pytest
from target_rows import CALLED, DEEP, PLAIN, TOLD, extras_of, model, rows_of, system, user

from prefpairs.dataset.row_checks import check_row
from prefpairs.dataset.row_rules import Row
from prefpairs.engine.pairs.pairs_from_trainer_rows import unwrap
from prefpairs.errors import BadField
from prefpairs.fields.pair_row import read_pair
from prefpairs.model.json_codec import encode
from prefpairs.targets import target_named
from prefpairs.targets.base import Dataset
from prefpairs.targets.export_options import ExportOptions
from prefpairs.targets.trinity import read

GOOD, BAD = [user("2+2?"), model("4")], [user("2+2?"), model("5")]


def _experience(**more: object) -> Row:
    row = {"eid": {"batch": ""}, "type": "dpo", "prompt_length": 3, "info": {}, "metrics": {}}
    return {**row, "chosen_messages": GOOD, "rejected_messages": BAD, **more}


def test_row() -> None:
    """Three chats, and the origin of the pair."""
    (row,) = rows_of("trinity", PLAIN)
    assert (row["prompt"], row["chosen"], row["rejected"]) == (
        [user("Q")], [model("Aye")], [model("Nay")]
    )  # fmt: skip
    assert row["pair_id"] == PLAIN.id


def test_row_of_a_trajectory() -> None:
    """Calls, results and schemas become text, since tools are not passed on."""
    (row,) = rows_of("trinity", DEEP)
    assert row["prompt"][0] == system(f"S\n\n{TOLD}")
    assert row["prompt"][2] == model(CALLED)
    assert "tools" not in row


def test_configuration() -> None:
    """The configuration has the folder, its columns, and a batch size that the rows can fill."""
    snippet = extras_of("trinity", "train", "val")["dpo.yaml"]
    for line in ("prompt_type: messages", "messages_key: prompt", "split: train", "path: ."):
        assert f"{line}\n" in snippet
    shape = frozenset({"pair_id: string"})
    assert "dtype: string" in extras_of("trinity", "train", shape=shape)["README.md"]


@pytest.mark.parametrize(("count", "batch"), [(1, 1), (3, 2), (63, 32), (64, 64), (1000, 64)])
def test_batch(count: int, batch: int) -> None:
    """With fewer rows than a batch, nothing would be trained."""
    files = {"train": "train.jsonl"}
    extras = target_named("trinity").extras(
        Dataset(files, {"train": count}, frozenset(), ExportOptions())
    )
    assert f"train_batch_size: {batch}\n" in extras["dpo.yaml"]


def test_ready_made_pair() -> None:
    """Conversations are cut where they diverge; each side has its tokens."""
    row = read(_experience(tokens=[1, 2, 3], chosen=[4, 5], rejected=[6], tools=[{"a": 1}]))
    assert row == {
        "prompt": [user("2+2?")],
        "chosen": [model("4")],
        "rejected": [model("5")],
        "tools": [{"a": 1}],
        "chosen_tokens": {"ids": [1, 2, 3, 4, 5], "prompt_length": 3, "mask": [1, 1]},
        "rejected_tokens": {"ids": [1, 2, 3, 6], "prompt_length": 3, "mask": [1]},
        "meta": {"eid": {"batch": ""}},
    }


@pytest.mark.parametrize("dialect", ["auto", "trinity"])
def test_known_by_its_columns(dialect: str) -> None:
    """A pair without scores, recognized by its columns."""
    found = read_pair(encode(_experience()), lambda row: unwrap(row, dialect))
    assert (found.lost, found.noticed, found.pair.gap) == (None, [], None)
    assert found.pair.chosen == [model("4")]


@pytest.mark.parametrize("sides", [(GOOD, [user("3+3?"), model("6")]), (GOOD, None), (7, 7)])
def test_no_pair(sides: tuple[object, object]) -> None:
    """Conversations with different beginnings, or none, are rejected."""
    row = _experience(chosen_messages=sides[0], rejected_messages=sides[1])
    with pytest.raises(BadField):
        read_pair(encode(row), lambda given: unwrap(given, "trinity"))


@pytest.mark.parametrize("name", ["messages", "message", "prompt"])
def test_names_of_the_prompt(name: str) -> None:
    """A configuration may use other column names for the prompt."""
    row = {name: [user("Q")], "chosen": [model("A")], "rejected": [model("B")]}
    assert read(row)["prompt"] == [user("Q")]


def test_rules() -> None:
    """Texts crash, repeated prompts are trained on, and tools are ignored."""
    rules = target_named("trinity").rules
    fine = {"prompt": [user("Q")], "chosen": [model("A")], "rejected": [model("B")]}
    assert check_row(fine, rules) == []
    found = check_row({**fine, "chosen": "A", "tools": [{}]}, rules)
    assert {finding.code for finding in found} == {"wrong_type", "tools_unseen"}
    repeated = {**fine, "chosen": [user("Q"), model("A")]}
    assert "prompt_repeated" in {finding.code for finding in check_row(repeated, rules)}
