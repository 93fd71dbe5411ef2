"""Files with labels and other formats without a framework, against an independent script.

The files are next to the repository, not in it; without them these tests are skipped.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from forked_prefpairs import run

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")

LABELS = ["helpsteer3_preference", "arena_human_preference", "tinker_comparisons", "shp"]
ANSWERS = {
    "helpsteer3_preference": ("response1", "response2"),
    "arena_human_preference": ("conversation_a", "conversation_b"),
    "tinker_comparisons": ("completion_A", "completion_B"),
    "shp": ("A", "B"),
}


def _answer(folder: str, name: str) -> dict[str, Any]:
    return dict(json.loads((SAMPLES / folder / "answer.json").read_bytes())[name])


def _read(path: Path, folder: Path, *words: str, command: str = "pair") -> tuple[Any, Any]:
    """The rows that a command writes, and its summary."""
    summary = folder / "summary.json"
    done = run(command, *words, str(path), "--summary", str(summary), "--quiet")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return rows, json.loads(summary.read_bytes())


@pytest.mark.parametrize("name", LABELS)
def test_labels(name: str, tmp_path: Path) -> None:
    """Each row has two rollouts; ties are dropped, preferences are right, without scores."""
    answer = _answer("pairwise", f"{name}.jsonl")
    pairs, summary = _read(SAMPLES / "pairwise" / f"{name}.jsonl", tmp_path)
    assert [given["source"] for given in summary["inputs"]] == ["preferences"]
    ready = summary["stages"]["ready-made"]
    assert (2 * ready["found"], ready["found"]) == (answer["rollouts"], answer["groups"])
    assert len(pairs) == answer["pairs"]
    ties = sum(ready["dropped"].get(reason, 0) for reason in ("tied", "both_bad"))
    assert ties == sum(group.get("why") == "tie" for group in answer["detail"])
    known = {group["group"]: group["pair"] for group in answer["detail"] if group["pair"]}
    for pair in pairs:
        line = f"L{pair['chosen_origin'].rpartition(':')[2]}"
        for side in ("chosen", "rejected"):
            assert f"{line}.{ANSWERS[name][pair[f'{side}_index']]}" in known[line][side]
            assert pair[f"{side}_score"] is None


def test_reward_bench(tmp_path: Path) -> None:
    """Right answers are chosen over wrong ones, by each one's verdict."""
    answer = _answer("pairwise", "rewardbench2.jsonl")
    pairs, summary = _read(SAMPLES / "pairwise" / "rewardbench2.jsonl", tmp_path)
    assert [given["source"] for given in summary["inputs"]] == ["reward-bench"]
    counts = summary["candidates"]
    assert (counts["found"], counts["kept"]) == (answer["rollouts"], answer["usable"])
    assert (summary["groups"], len(pairs)) == (answer["groups"], answer["pairs"])
    for pair in pairs:
        row = json.loads(
            (SAMPLES / "pairwise" / "rewardbench2.jsonl")
            .read_bytes()
            .splitlines()[int(pair["chosen_origin"].partition(":")[2].partition("#")[0]) - 1]
        )
        assert pair["chosen"] in row["chosen"]
        assert pair["rejected"] in row["rejected"]
        assert (pair["chosen_score"], pair["rejected_score"], pair["gap"]) == (1.0, 0.0, 1.0)


SAMPLES_OF_LM_EVAL = "samples_gsm8k_2026-11-19T09-00-00.000000.jsonl"


def _name_of_lm_eval(candidate: dict[str, Any]) -> str:
    return f"doc{json.loads(candidate['group'])[0]}.resp{candidate['meta']['answer_position']}"


def test_lm_eval(tmp_path: Path) -> None:
    """The metric is that of the first answer, so there is no pair; the error says what to do."""
    answer, path = _answer("lm-eval", SAMPLES_OF_LM_EVAL), SAMPLES / "lm-eval" / SAMPLES_OF_LM_EVAL
    kept, summary = _read(path, tmp_path, command="extract")
    assert [given["source"] for given in summary["inputs"]] == ["lm-eval"]
    rollouts = [one for group in answer["detail"] for one in group["rollouts"]]
    assert summary["candidates"]["found"] == answer["rollouts"]
    assert summary["candidates"]["dropped"] == {"no_score": sum("drop" in one for one in rollouts)}
    scores = {one["id"]: one["score"] for one in rollouts if "drop" not in one}
    assert {_name_of_lm_eval(one): one["score"] for one in kept} == scores
    done = run("pair", str(path))
    assert (done.returncode, answer["pairs"]) == (3, 0)
    assert b"several runs of a model" in done.stderr


def test_ultrafeedback(tmp_path: Path) -> None:
    """The mean of the ratings decides, since the overall score prefers the wrong answer."""
    answer, path = _answer("ultrafeedback", "rows.jsonl"), SAMPLES / "ultrafeedback" / "rows.jsonl"
    named = ("--keep", "completions[].model")
    kept, summary = _read(path, tmp_path, *named, command="extract")
    assert [given["source"] for given in summary["inputs"]] == ["ultrafeedback"]
    found = {
        f"L{one['origin'].split(':')[1][0]}.{one['meta']['completions[].model']}": one["score"]
        for one in kept
    }
    assert found == {
        one["id"]: one["score"] for group in answer["detail"] for one in group["rollouts"]
    }
    (pair,), _ = _read(path, tmp_path)
    known = answer["detail"][0]["pair"]
    scores = pair["chosen_score"], pair["rejected_score"], pair["gap"]
    assert scores == (known["chosen_score"], known["rejected_score"], known["gap"])


OBJECTS = ["chat_completions_n4", "batch_output", "responses", "vllm_run_batch_output"]


@pytest.mark.parametrize("name", OBJECTS)
def test_objects_without_prompt_and_score(name: str, tmp_path: Path) -> None:
    """Each of their answers is counted, and dropped; the error names --join."""
    answer, path = _answer("openai", f"{name}.jsonl"), SAMPLES / "openai" / f"{name}.jsonl"
    done = run("pair", str(path))
    assert (done.returncode, answer["pairs"], answer["usable"]) == (3, 0, 0)
    assert b"read as openai" in done.stderr
    assert b"--join FILE --on custom_id" in done.stderr
    _, summary = _read(path, tmp_path, "--allow-empty", command="extract")
    assert summary["candidates"]["dropped"] == {"no_prompt": answer["rollouts"]}


def test_batch_output_with_its_input(tmp_path: Path) -> None:
    """Joined by custom_id, it still has no score; with a file of scores it gives pairs."""
    answer, folder = _answer("openai", "batch_output.jsonl"), SAMPLES / "openai"
    joined = ("--join", str(folder / "batch_input.jsonl"), "--on", "custom_id")
    output = folder / "batch_output.jsonl"
    _, summary = _read(output, tmp_path, *joined, "--allow-empty", command="extract")
    assert summary["candidates"]["dropped"] == {"no_score": answer["rollouts"]}
    scores = tmp_path / "scores.jsonl"
    rows = [{"custom_id": f"q{number}", "scores": [1, 0, 1, 0]} for number in range(2)]
    scores.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    pairs, _ = _read(output, tmp_path, *joined, "--join", str(scores))
    asked = {pair["prompt"][0]["content"]: pair["chosen"][0]["content"] for pair in pairs}
    assert asked.keys() == {"2+3?", "7*6?"}
    assert asked["2+3?"] in ("5", "five")


NAMED = ("--prompt", "prompt", "--response", "completion.choices[].message", "--score", "scores[]")


@pytest.mark.parametrize("words", [(), NAMED])
def test_completions_in_rows_of_ones_own(words: tuple[str, ...], tmp_path: Path) -> None:
    """With the options that the sample's README names, and without any."""
    answer, path = _answer("openai", "scored_n4.jsonl"), SAMPLES / "openai" / "scored_n4.jsonl"
    kept, summary = _read(path, tmp_path, *words, command="extract")
    assert summary["candidates"]["found"] == answer["rollouts"]
    assert summary["candidates"]["dropped"] == {"incomplete": 1}
    assert len(kept) == answer["usable"]
    pairs, summary = _read(path, tmp_path, *words)
    assert summary["groups"] == answer["groups"]
    known = [group["pair"] for group in answer["detail"]]
    assert len(pairs) == answer["pairs"]
    for pair, expected in zip(pairs, known, strict=True):
        line = pair["chosen_origin"].partition(":")[2].partition("#")[0]
        for side in ("chosen", "rejected"):
            assert f"L{line}.c{pair[f'{side}_index']}" in expected[side]
            assert pair[f"{side}_score"] == expected[f"{side}_score"]
