"""Held-out data stays held out, whichever command writes the files."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from forked_prefpairs import Done, run_text
from prefpairs.model.identity import digest_prompt


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _run(*words: str) -> Done:
    return run_text(*words, "--quiet")


def _write(path: str, *rows: dict[str, Any]) -> None:
    Path(path).parent.mkdir(exist_ok=True)
    Path(path).write_text("".join(f"{json.dumps(row)}\n" for row in rows))


def _pair(prompt: str) -> dict[str, Any]:
    scores = {"chosen_score": 1, "rejected_score": 0}
    return {"prompt": prompt, "chosen": "a", "rejected": "b", **scores}


EXPORT = '[read]\ninputs = ["data"]\n{}[export]\nto = "trl"\n[write]\nout_dir = "O"\n'


@pytest.mark.parametrize("stage", ["[filter]\nmin_gap = 0.5\n", "[pair]\n"])
@pytest.mark.parametrize("held_out", ["val", "test"])
def test_recipe_without_a_split(stage: str, held_out: str) -> None:
    """Rejects a recipe without a split, which would train on held-out data."""
    for side in ("train", held_out):
        rows = [{"prompt": side, "response": text, "score": len(text)} for text in ("a", "bb")]
        _write(f"data/{side}.jsonl", *(rows if "pair" in stage else [_pair(side)]))
    Path("x.toml").write_text(EXPORT.format(stage))
    done = _run("run", "x.toml")
    assert done.returncode == 2
    assert f"data/{held_out}.jsonl is {held_out} data by its name" in done.stderr
    assert f"train_pairs.jsonl {held_out}_pairs.jsonl --out-dir O" in done.stderr
    assert not Path("O").exists()


def test_recipe_of_an_export_alone() -> None:
    """A recipe that only exports keeps the splits of its inputs and writes what `export` writes."""
    for side in ("train", "val"):
        _write(f"data/{side}.jsonl", _pair(side))
    Path("x.toml").write_text(EXPORT.format(""))
    assert _run("run", "x.toml").returncode == 0
    assert _run("export", "--to", "trl", "data", "--out-dir", "E").returncode == 0
    for name in ("train.jsonl", "val.jsonl"):
        assert Path("O", name).read_bytes() == Path("E", name).read_bytes() != b""


def test_no_data_to_train_on() -> None:
    """If there is no training data, the error is that of `export`."""
    _write("test.jsonl", _pair("Q"))
    done = _run("pair", "test.jsonl", "--to", "trl", "--out-dir", "O")
    exported = _run("export", "test.jsonl", "--to", "trl", "--out-dir", "O")
    assert done.returncode == exported.returncode == 2
    assert done.stderr == exported.stderr
    assert "there is none to train on" in done.stderr


def test_rollouts_of_several_sides() -> None:
    """`pair` mixes rollouts of several splits; the hint keeps them apart."""
    names = ("train", "test")
    for side in names:
        rows = [{"prompt": side, "response": text, "score": len(text)} for text in ("a", "bb")]
        _write(f"roll/{side}.jsonl", *rows)
    done = _run("pair", "roll", "--to", "trl", "--out-dir", "O")
    assert done.returncode == 2
    assert not Path("O").exists()
    pairs = [f"{side}_pairs.jsonl" for side in names]
    for side, path in zip(names, pairs, strict=True):
        assert _run("pair", f"roll/{side}.jsonl", "-o", path).returncode == 0
    assert _run("export", "--to", "trl", *pairs, "--out-dir", "O").returncode == 0
    assert Path("O/train.jsonl").exists()
    assert Path("O/test.jsonl").exists()


@pytest.mark.parametrize("option", ["--summary", "--quarantine"])
def test_old_split_is_not_written_over(option: str) -> None:
    """No summary or quarantine replaces the earlier split; a new split may, in the same folder."""
    _write("pairs.jsonl", *(_pair(f"Q{number}") for number in range(20)))
    assert _run("split", "pairs.jsonl", "--out-dir", "old").returncode == 0
    before = Path("old/train.jsonl").read_bytes()
    like = ("split", "--like", "old", "pairs.jsonl", "--out-dir")
    skipping = ("--on-error", "quarantine") if option == "--quarantine" else ()
    done = _run(*like, "new", option, "old/train.jsonl", *skipping)
    assert done.returncode == 2
    assert "old/train.jsonl" in done.stderr
    assert Path("old/train.jsonl").read_bytes() == before
    assert _run(*like, "old").returncode == 0
    assert Path("old/train.jsonl").read_bytes() == before


def _write_across() -> None:
    """Write rollouts that pair with answers to other prompts."""
    _write(
        "r.jsonl",
        *(
            {
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": f"Q{number}"},
                    {"role": "assistant", "content": f"answer {number}"},
                ],
                "score": number % 2,
            }
            for number in range(40)
        ),
    )


def test_split_for_a_trainer_across_prompts() -> None:
    """Rejects --for across prompts, since the second prompt is unknown; the hint leaks nothing."""
    _write_across()
    words = ("pair", "--strategy", "stratified", "--across-prompts", "r.jsonl", "-o", "p.jsonl")
    assert _run(*words).returncode == 0
    halves = ("split", "--val-fraction", ".5", "p.jsonl", "--out-dir", "data")
    done = _run(*halves, "--for", "trl", "--system", "merge")
    assert done.returncode == 2
    assert "has answers to two prompts" in done.stderr
    assert not Path("data").exists()
    assert _run(*halves).returncode == 0
    prompts = {side: _prompts(f"data/{side}.jsonl") for side in ("train", "val")}
    assert all(prompts.values())
    assert not prompts["train"] & prompts["val"]


def _prompts(path: str) -> set[str]:
    """The digests of both prompts of each pair."""
    rows = [json.loads(line) for line in Path(path).read_bytes().splitlines()]
    asked = {digest_prompt(row["prompt"]).hex() for row in rows}
    return asked | {row["meta"]["prompt_of_rejected"] for row in rows}


def test_recipe_that_exports_pairs_across_prompts() -> None:
    """The recipe does what the commands do without --for."""
    _write_across()
    Path("x.toml").write_text(
        '[read]\ninputs = ["r.jsonl"]\n[pair]\nstrategy = "stratified"\nacross_prompts = true\n'
        '[split]\nval_fraction = 0.5\n[export]\nto = "trl"\nsystem = "merge"\n'
        '[write]\nout_dir = "O"\n'
    )
    assert _run("run", "x.toml").returncode == 0
    words = ("pair", "--strategy", "stratified", "--across-prompts", "r.jsonl", "-o", "p.jsonl")
    assert _run(*words).returncode == 0
    assert _run("split", "--val-fraction", ".5", "p.jsonl", "--out-dir", "data").returncode == 0
    told = _run("export", "--to", "trl", "--system", "merge", "data", "--out-dir", "P")
    assert told.returncode == 0
    for side in ("train", "val"):
        name = f"{side}.jsonl"
        assert Path("O", name).read_bytes() == Path("P", name).read_bytes() != b""


def test_manifest_of_a_split_like_another(tmp_path: Path) -> None:
    """The manifest has no absolute path, and lists the files of the old split."""
    _write("pairs.jsonl", *(_pair(f"Q{number}") for number in range(20)))
    assert _run("split", "pairs.jsonl", "--out-dir", "old").returncode == 0
    old = json.dumps(str(tmp_path / "old"))
    Path("x.toml").write_text(
        f'[read]\ninputs = ["pairs.jsonl"]\n[split]\nlike = {old}\n[write]\nout_dir = "new"\n'
    )
    assert _run("run", "x.toml").returncode == 0
    manifest = Path("new/manifest.json").read_text()
    assert str(tmp_path) not in manifest
    assert "../old/train.jsonl" in manifest


def test_hint_for_a_side_of_which_all_leaks() -> None:
    """The hint leads to a split that can be exported."""
    turns = [
        {"role": "user", "content": "Hello"},
        {"role": "assistant", "content": "Hi"},
        {"role": "user", "content": "Same question"},
    ]
    histories = [[{"role": "system", "content": f"S{number}"}, *turns] for number in range(4)]
    others = [_pair(f"Q{number}") for number in range(4)]
    pairs = [_pair("") | {"prompt": history} for history in histories]
    Path("data").mkdir()
    _write("data/train.jsonl", *pairs[:2])
    _write("data/val.jsonl", *pairs[2:], *others)
    export = ("export", "--to", "customizer", "--last-message", "data", "--out-dir", "O")
    done = _run(*export)
    assert done.returncode == 3
    _, *command = shlex.split(done.stderr.partition("hint: ")[2])
    split = ["split", "--for", "customizer", "--out-dir", "split-for-customizer"]
    assert command == [*split, "--last-message", "data", "--quiet"]
    assert _run(*command, "--exact").returncode == 0
    assert _run(*export[:-3], "split-for-customizer", *export[-2:]).returncode == 0
