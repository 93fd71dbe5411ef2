"""Logs written by TRL and verl, against pairs that an independent script found in them.

The files are next to the repository, not in it; without them these tests are skipped.
"""

import json
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.main import main

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
CHATML = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{{- '<|im_start|>assistant\\n' if add_generation_prompt }}"
)
VERL = ["train_v1/1.jsonl", "train_legacy/1.jsonl", "val_v1/0.jsonl"]
TRL = [
    f"{version}/completions_{step:05d}.parquet"
    for version in ("1.14.0", "1.15.0", "1.16.0")
    for step in (1, 2)
]
FILES = [*(f"verl/{name}" for name in VERL), *(f"trl/{name}" for name in TRL)]
SPEAKING = re.compile(r"(system|user|assistant)\n")

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Restore the signal handlers."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(name="run")
def _run(tmp_path: Path) -> Any:
    def run(*words: str | Path) -> list[dict[str, Any]]:
        output = tmp_path / "out.jsonl"
        output.unlink(missing_ok=True)
        main([*map(str, words), "--quiet", "-o", str(output)])
        return list(map(json.loads, output.read_bytes().splitlines())) if output.exists() else []

    return run


@pytest.fixture(name="template")
def _template(tmp_path: Path) -> Path:
    path = tmp_path / "chat_template.jinja"
    path.write_text(CHATML, "utf-8")
    return path


def _answer(name: str) -> dict[str, Any]:
    folder, _, file = name.partition("/")
    return dict(json.loads((SAMPLES / folder / "answer.json").read_bytes())[file])


def _names(file: Path, origin: str) -> set[str]:
    """The names of the row at an origin: its number or its uid."""
    number = int(origin.rpartition(":")[2])
    names = {f"L{number}", f"row{number - 1}"}
    if file.suffix == ".jsonl":
        row = json.loads(file.read_bytes().splitlines()[number - 1])
        names.add(str(row.get("uid")))
    return names


@pytest.mark.parametrize("name", FILES)
def test_pairs_of_logs(run: Any, name: str) -> None:
    """The number of pairs is right; each has one of the best answers and one of the worst."""
    file, answer = SAMPLES / name, _answer(name)
    expected = [group["pair"] for group in answer["detail"] if group["pair"]]
    pairs = run("pair", file)
    assert len(pairs) == len(expected) == answer["pairs"]
    for pair in pairs:
        sides = [_names(file, pair[f"{side}_origin"]) for side in ("chosen", "rejected")]
        (known,) = [one for one in expected if sides[0] & {*one["chosen"]}]
        assert sides[1] & {*known["rejected"]}
        if name.startswith("verl"):  # TRL's advantage has the order of the rewards, not their sum
            scores = pair["chosen_score"], pair["rejected_score"], pair["gap"]
            assert scores == (known["chosen_score"], known["rejected_score"], known["gap"])


@pytest.mark.parametrize("name", [*FILES[:3], "trl/1.14.0/completions_00001.parquet"])
def test_rendered_prompts_are_never_what_the_user_said(
    run: Any, template: Path, tmp_path: Path, name: str
) -> None:
    """Chat targets get messages from a rendered prompt, or nothing; never one user message."""
    given = tmp_path / "pairs.jsonl"
    for options, count in (((), 0), (("--prompt-template", template), 2)):
        pairs = run("pair", *options, SAMPLES / name)
        given.write_text("".join(f"{json.dumps(pair)}\n" for pair in pairs), "utf-8")
        rows = run("export", "--to", "trl", given)
        assert len(rows) == count
        for row in rows:
            assert [turn["role"] for turn in row["prompt"]][-1] == "user"
            assert not any(SPEAKING.match(turn["content"]) for turn in row["prompt"])


@pytest.mark.parametrize("step", [1, 2])
def test_prompts_that_trl_rendered_become_those_that_it_logs_now(
    run: Any, template: Path, step: int
) -> None:
    """TRL 1.14 wrote as text what 1.15 writes as messages: the pairs are the same."""
    name = f"completions_{step:05d}.parquet"
    old = run("pair", "--prompt-template", template, SAMPLES / "trl" / "1.14.0" / name)
    new = run("pair", SAMPLES / "trl" / "1.15.0" / name)
    assert [pair["prompt"] for pair in old] == [pair["prompt"] for pair in new]
    assert [pair["id"] for pair in old] == [pair["id"] for pair in new]


@pytest.mark.parametrize("name", FILES)
def test_rollouts_and_groups_of_logs(run: Any, name: str) -> None:
    """All rollouts are kept, and those of one task compete."""
    file, answer = SAMPLES / name, _answer(name)
    groups: dict[tuple[str, str], set[str]] = {}
    for candidate in run("extract", file):
        asked = candidate["group"], json.dumps(candidate["prompt"])
        groups.setdefault(asked, set()).update(_names(file, candidate["origin"]))
    assert len(groups) == answer["groups"]
    for task in answer["detail"]:
        known = {row["id"] for row in task["rollouts"]}
        assert any(known <= names for names in groups.values())


@pytest.mark.parametrize("name", [name for name in FILES if name.startswith("trl")])
def test_rewards_that_do_not_apply_lose_no_row(run: Any, tmp_path: Path, name: str) -> None:
    """TRL adds the rewards that there are; so does --score, with the weights of the run."""
    words = ["--score", "letters", "--score", "short:0.2", SAMPLES / name]
    answer, summary = _answer(name), tmp_path / "summary.json"
    known = [row["score"] for group in answer["detail"] for row in group["rollouts"]]
    scores = [row["score"] for row in run("extract", *words, "--summary", summary)]
    assert scores == pytest.approx(known)  # the file holds them in single precision
    assert json.loads(summary.read_bytes())["candidates"]["dropped"] == {}
    of_groups = [group["pair"] for group in answer["detail"] if group["pair"]]
    gaps = [pair["gap"] for pair in run("pair", *words)]
    assert gaps == pytest.approx([pair["gap"] for pair in of_groups])
