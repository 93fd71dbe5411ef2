"""Files that Trinity-RFT 0.6.0 itself wrote; skipped if they are missing."""

import json
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.main import main

SAMPLES = Path(__file__).parents[3] / "shared" / "samples" / "trinity"
CHATML = (
    "{% for m in messages %}{{ '<|im_start|>' + m.role + '\n' + m.content + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")


def _pairs(folder: Path, *words: str, code: int = 0) -> list[dict[str, Any]]:
    output = folder / "out.jsonl"
    output.unlink(missing_ok=True)
    assert main(["pair", "-q", "--strategy", "exhaustive", *words, "-o", str(output)]) == code
    return [json.loads(line) for line in output.read_bytes().splitlines()] if code == 0 else []


def _said(pair: dict[str, Any]) -> tuple[Any, ...]:
    told = ("id", "group", "prompt", "chosen", "rejected", "chosen_score", "rejected_score")
    return (*(json.dumps(pair[name]) for name in told), pair["chosen_index"], pair["meta"]["step"])


FORMS = ("experiences.jsonl", "experiences.trxp", "two_frames.trxp")


def test_forms_agree(tmp_path: Path) -> None:
    """All formats give the same pairs; one task has only ties."""
    found = [list(map(_said, _pairs(tmp_path, str(SAMPLES / name)))) for name in FORMS]
    assert found[0] == found[1] == found[2]
    groups = [json.loads(pair[1]) for pair in found[0]]
    assert (groups.count('["5","0"]'), groups.count('["5","2"]'), len(groups)) == (6, 5, 11)


def test_chats_come_back(tmp_path: Path) -> None:
    """With the template that rendered them, chats are recovered from every format."""
    (tmp_path / "t.jinja").write_text(CHATML)
    words = "--prompt-template", str(tmp_path / "t.jinja")
    for name in FORMS:
        pairs = _pairs(tmp_path, str(SAMPLES / name), *words)
        assert [[turn["role"] for turn in pair["prompt"]] for pair in pairs] == [
            ["system", "user"]
        ] * 11


def test_databases(tmp_path: Path) -> None:
    """A database gives the same pairs; with a tokenizer, also those of a task only it has."""
    expected = list(map(_said, _pairs(tmp_path, str(SAMPLES / FORMS[0]))))
    database = str(SAMPLES / "explorer_output.db")
    assert list(map(_said, _pairs(tmp_path, database))) == expected
    found = _pairs(tmp_path, "--tokenizer", str(SAMPLES / "tokenizer.json"), database)
    assert list(map(_said, found[:-1])) == expected
    last = found[-1]
    assert (last["chosen"], last["rejected"]) == ("call 0 r1", "call 0 r0")
    assert (json.loads(last["group"])[:2], last["meta"]["step"]) == (["6", "0"], 0)
    assert last["prompt"].startswith("<|im_start|>user\nFix the failing test.")
    (ready,) = _pairs(tmp_path, str(SAMPLES / "dpo_buffer.db"))
    assert [ready[side][0]["content"] for side in ("prompt", "chosen", "rejected")] == [
        "2+2?",
        "4",
        "5",
    ]
    lengths = [len(ready[f"{side}_tokens"]["ids"]) for side in ("chosen", "rejected")]
    assert (ready["gap"], lengths, ready["chosen_origin"]) == (None, [26, 26], "dpo_buffer.db:1")


def test_ready_made_pairs(tmp_path: Path) -> None:
    """All pair commands read them, tokens included, and they can be exported to Trinity again."""
    output = tmp_path / "train.jsonl"
    words = ["export", "-q", "--to", "trinity", "-o", str(output), str(SAMPLES / "dpo_buffer.db")]
    assert main(words) == 0
    (row,) = map(json.loads, output.read_bytes().splitlines())
    assert [row[name][0]["content"] for name in ("prompt", "chosen", "rejected")] == [
        "2+2?", "4", "5"
    ]  # fmt: skip
    assert main(["validate", "-q", "--to", "trinity", str(output)]) == 0


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("hostile.trxp", ":1: byte "),
        ("version2.trxp", ": byte "),
        ("truncated.trxp", ": byte "),
        ("legacy_experience.pkl", ": byte "),
    ],
)
def test_refused(name: str, place: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Rejected with the file, the byte and the reason."""
    _pairs(tmp_path, str(SAMPLES / name), code=1)
    assert capfd.readouterr().err.startswith(f"error: {name}{place}")
