"""Real rollouts, as published by NeMo Gym and written by the NeMo Agent Toolkit.

The files are next to the repository, not in it; without them these tests are skipped.
"""

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from prefpairs.cli.main import main
from prefpairs.model.schema import CandidateModel, PairModel

SAMPLES = Path(__file__).parents[3] / "shared" / "samples"
COMPOSER = SAMPLES / "composer"
CHATML = (
    "{%- for m in messages %}{{- '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>\\n' }}"
    "{%- endfor %}{{- '<|im_start|>assistant\\n' if add_generation_prompt }}"
)
GYM = [
    "anyswe_claude_code__5x_1task_empty_input",
    "aviary__5x_output_list_of_lists",
    "blackjack__5x_1task_different_prompts",
    "example_multi_step__5x_tools",
    "example_tool_call_multireward__5x",
    "google_search__5x_string_input_instructions",
    "graphwalks__5x_duplicate_index",
    "multichallenge__no_reward",
    "physics_with_judge__25x_5tasks_x5",
    "tau2_synth__5x_same_input_multiturn_tools",
    "tavily_search__placeholder_rows",
    "text_to_sql__15x_5tasks_x3_noindex",
]
STRATEGIES = ["best-vs-worst", "exhaustive", "adjacent", "best-vs-rest", "random", "sweet-spot"]

pytestmark = pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are not here")


@dataclass
class Ran:
    """The result of a run."""

    code: int
    rows: list[dict[str, Any]]
    summary: dict[str, Any]
    errors: str


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Restore the signal handlers."""
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(name="run")
def _run(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> Any:
    def run(command: str, *words: str | Path) -> Ran:
        output, summary = tmp_path / "out.jsonl", tmp_path / "summary.json"
        output.unlink(missing_ok=True)
        summary.unlink(missing_ok=True)
        places = ["-o", str(output), "--summary", str(summary), "--quiet"]
        code = main([command, *map(str, words), *places])
        lines = output.read_bytes().splitlines() if output.exists() else []
        return Ran(
            code,
            list(map(json.loads, lines)),
            json.loads(summary.read_bytes()) if summary.exists() else {},
            capfd.readouterr().err,
        )

    return run


def _gym(name: str) -> Path:
    (path,) = (SAMPLES / "nemo-gym").glob(f"{name}*.jsonl")
    return path


def _nat(name: str) -> Path:
    return SAMPLES / "nat" / f"workflow_output_example_{name}.json"


def _without_origin(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{key: row[key] for key in row if not key.endswith("origin")} for row in rows]


def test_physics(run: Any) -> None:
    """Five tasks by five; two of them have right and wrong answers."""
    ran = run("pair", _gym("physics_with_judge"), "--order", "key")
    assert (ran.code, ran.summary["candidates"]["kept"]) == (0, 25)
    assert ran.summary["groups_without_pair"] == {"all_tied": 3}
    assert sorted((row["group"], row["gap"]) for row in ran.rows) == [
        ("[null,3]", 1.0),
        ("[null,4]", 1.0),
    ]
    assert all(row["chosen"][0]["reasoning_content"] for row in ran.rows)


def test_physics_in_five_files(run: Any, tmp_path: Path) -> None:
    """Split into files by rollout index, each with one answer per task, the pairs are the same."""
    lines = _gym("physics_with_judge").read_bytes().splitlines(keepends=True)
    folder = tmp_path / "shards"
    folder.mkdir()
    for line in lines:
        with (folder / f"{json.loads(line)['_ng_rollout_index']}.jsonl").open("ab") as shard:
            shard.write(line)
    assert len(list(folder.iterdir())) == 5
    whole = run("pair", _gym("physics_with_judge"), "--order", "key")
    shards = run("pair", folder, "--order", "key")
    assert len(whole.rows) == 2
    assert _without_origin(shards.rows) == _without_origin(whole.rows)


def test_text_to_sql(run: Any) -> None:
    """The sample has five tasks of three rollouts, without an index: prompts identify them."""
    ran = run("pair", _gym("text_to_sql"))
    assert (ran.code, ran.summary["groups"], len(ran.rows)) == (0, 5, 2)
    assert ran.summary["groups_without_pair"] == {"all_tied": 2, "same_answer": 1}
    assert [[turn["role"] for turn in row["prompt"]] for row in ran.rows] == [
        ["system", "user"]
    ] * 2
    assert {row["chosen_index"] for row in ran.rows} == {None}


@pytest.mark.parametrize("name", ["tau2_synth", "blackjack"])
def test_rollouts_that_only_seem_comparable(run: Any, name: str) -> None:
    """One prompt of five tasks, or five prompts of one task, give no pair."""
    ran = run("pair", _gym(name))
    assert (ran.code, ran.rows, ran.summary["pairs"]) == (3, [], 0)
    assert ran.summary["groups_without_pair"] == {"one_candidate": 5}
    assert ran.errors.startswith(
        "error: the result has no pairs, so nothing was written\n\nhint: 5 groups"
    )


def test_tau2_joined_by_prompt(run: Any) -> None:
    """--group-by prompt groups rollouts of different tasks."""
    ran = run("pair", _gym("tau2_synth"), "--group-by", "prompt", "--allow-empty")
    assert ran.summary["groups"] == 1


def test_anyswe(run: Any) -> None:
    """The input is empty; the question is taken from the metadata."""
    ran = run("pair", _gym("anyswe"))
    (row,) = ran.rows
    first = json.loads(_gym("anyswe").read_bytes().splitlines()[0])
    problem = first["responses_create_params"]["metadata"]["problem_statement"]
    assert (ran.code, row["prompt"]) == (0, [{"role": "user", "content": problem}])
    assert (row["group"], row["gap"]) == ('["anyswe_claude_code",0]', 1.0)
    assert [turn["role"] for turn in row["chosen"]][:3] == ["assistant", "tool", "assistant"]


def test_graphwalks(run: Any) -> None:
    """One rollout occurs twice, with the same task and index."""
    ran = run("pair", _gym("graphwalks"))
    assert (ran.code, ran.summary["candidates"]) == (
        3,
        {"found": 5, "kept": 4, "dropped": {"duplicate_rollout": 1}},
    )


def test_tavily(run: Any) -> None:
    """Placeholder lines are dropped, not bad."""
    ran = run("pair", _gym("tavily"))
    assert (ran.code, ran.summary["rows"]) == (
        3,
        {"read": 5, "used": 0, "dropped": {"placeholder": 5}, "bad": 0},
    )


def test_multichallenge(run: Any) -> None:
    """Rows of an environment without rewards are dropped."""
    ran = run("pair", _gym("multichallenge"))
    assert (ran.code, ran.summary["candidates"]) == (
        3,
        {"found": 5, "kept": 0, "dropped": {"no_score": 5}},
    )
    assert "name the field of the score with --score PATH" in ran.errors


def test_aviary(run: Any) -> None:
    """Each row is one step's transcript; its prompt is the environment's first turn."""
    ran = run("extract", _gym("aviary"))
    assert (ran.code, len(ran.rows)) == (0, 5)
    assert ran.summary["noticed"] == {"leading_turn_moved": 5, "trailing_turn_cut": 1}
    assert [[turn["role"] for turn in row["prompt"]] for row in ran.rows] == [["user"]] * 5
    assert ran.rows[0]["prompt"][0]["content"].startswith("Weng earns $12 an hour for babysitting.")
    assert {row["response"][0]["role"] for row in ran.rows} == {"assistant"}
    assert {row["response"][-1]["role"] for row in ran.rows} == {"assistant"}


def test_google_search(run: Any) -> None:
    """A string as input, with separate instructions, and tools in the flat format."""
    rows = run("extract", _gym("google_search")).rows
    assert [[turn["role"] for turn in row["prompt"]] for row in rows] == [["system", "user"]] * 5
    assert [list(tool["function"]) for tool in rows[0]["tools"]] == [
        ["name", "description", "parameters"]
    ] * len(rows[0]["tools"])


def test_multi_step(run: Any) -> None:
    """Calls are numbered in order, and so are their results."""
    rows = run("extract", _gym("example_multi_step")).rows
    response = rows[0]["response"]
    calls = [call["id"] for turn in response for call in turn.get("tool_calls", [])]
    results = [turn["tool_call_id"] for turn in response if turn["role"] == "tool"]
    assert calls == results == [f"call_{number}" for number in range(1, len(calls) + 1)]
    assert len(calls) > 2


def test_multireward(run: Any) -> None:
    """The reward is the sum; its components can be used instead."""
    name = _gym("example_tool_call_multireward")
    plain = [row["score"] for row in run("extract", name).rows]
    words = ["--score", "reward_components.correctness", "--score", "reward_components.format:0.5"]
    weighted = [row["score"] for row in run("extract", name, *words).rows]
    components = [json.loads(line)["reward_components"] for line in name.read_bytes().splitlines()]
    assert plain == [2.0] * 5
    assert weighted == [parts["correctness"] + parts["format"] / 2 for parts in components]


@pytest.mark.parametrize("name", ["ttc", "all"])
def test_nat_steps(run: Any, name: str) -> None:
    """Two candidates of one turn make a pair."""
    ran = run("pair", _nat(name))
    (row,) = ran.rows
    assert (ran.code, row["gap"], row["chosen_score"], row["rejected_score"]) == (
        0,
        0.65,
        0.9,
        0.25,
    )
    assert row["chosen"] == [{"role": "assistant", "content": "<move>1,1</move>"}]
    assert row["rejected"] == [{"role": "assistant", "content": "<move>0,1</move>"}]
    assert row["meta"] == {"example_id": 1, "turn_id": "turn_0_ab12cd34"}
    assert row["id"] == "f56f1769c7f4800cc8f11ae4d71f22fd"


def test_nat_default(run: Any) -> None:
    """The toolkit's default file has no steps; the hint says how to get them."""
    ran = run("pair", _nat("default"))
    assert (ran.code, ran.rows, ran.summary["rows"]["dropped"]) == (3, [], {"no_ttc_steps": 1})
    assert "eval.general.output.workflow_output_step_filter: [TTC_END]" in ran.errors


@pytest.mark.parametrize("name", GYM)
def test_ledgers_close(run: Any, name: str) -> None:
    """Every row and every candidate of every file is accounted for, and fits the schema."""
    ran = run("extract", _gym(name))
    rows, candidates = ran.summary["rows"], ran.summary["candidates"]
    assert rows["read"] == rows["used"] + sum(rows["dropped"].values()) + rows["bad"]
    assert candidates["found"] == candidates["kept"] + sum(candidates["dropped"].values())
    assert (candidates["kept"], rows["bad"]) == (len(ran.rows), 0)
    assert [CandidateModel.model_validate(row).origin for row in ran.rows] == [
        row["origin"] for row in ran.rows
    ]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_laws_on_all_files_together(run: Any, strategy: str) -> None:
    """Every pair is a strict preference between different answers, and fits the schema."""
    ran = run("pair", SAMPLES / "nemo-gym", "--strategy", strategy, "--max-pairs-per-group", "3")
    assert ran.code == 0
    assert len({row["id"] for row in ran.rows}) == len(ran.rows) >= 5
    for row in ran.rows:
        read = PairModel.model_validate(row)
        assert (read.chosen_score or 0) > (read.rejected_score or 0)
        assert read.chosen != read.rejected


def test_folder_is_its_files(run: Any) -> None:
    """All files together give the pairs of each file alone."""
    together = run("pair", SAMPLES / "nemo-gym")
    alone = [row for name in GYM for row in run("pair", _gym(name), "--allow-empty").rows]
    assert together.rows == alone
    assert len(alone) == 5


# Traces of agents -------------------------------------------------------------------------


def test_traces(run: Any) -> None:
    """Three embedded pairs, of which one is also a recovery."""
    ran = run("pair", COMPOSER / "traces.jsonl")
    assert [row["meta"] for row in ran.rows] == [
        {"trace_id": "t0", "dpo_pair": 1},
        {"trace_id": "t0", "dpo_pair": 2},
        {"trace_id": "t1", "dpo_pair": 1},
    ]
    assert ran.summary["stages"]["ready-made"]["dropped"] == {"ready_twice": 1}


def test_tokens_of_traces(run: Any, tmp_path: Path) -> None:
    """Token counts and answers equal those of another program."""
    template = tmp_path / "chat_template.jinja"
    template.write_text(CHATML, "utf-8")
    words = ["--to", "tokens", "--tokenizer", COMPOSER / "tokenizer.json", "--template", template]
    rows = run("pair", COMPOSER / "traces.jsonl", *words).rows
    expected = json.loads((COMPOSER / "offset_comparison.json").read_bytes())
    names = json.loads((COMPOSER / "vocab.json").read_bytes())
    text_of = {number: name for name, number in names.items()}
    for number, row in enumerate(rows):
        counted = expected[f"dpo{number}"]
        assert row["chosen_length"] == counted["exact_tokens"]
        assert "".join(map(text_of.__getitem__, row["chosen_ids"])) == counted["chosen_text"]
    assert [row["chosen_length"] for row in rows] == [53, 63, 15]


def test_hints_of_traces(run: Any, tmp_path: Path) -> None:
    """The student's length and the hint's position match those counted independently."""
    template, hints, traces = (tmp_path / name for name in ("chat.jinja", "h.toml", "t.jsonl"))
    template.write_text(CHATML, "utf-8")
    hints.write_text('tool_not_found = "Available: {available_tools}."', "utf-8")
    given = [json.loads(line) for line in (COMPOSER / "traces.jsonl").read_bytes().splitlines()]
    for trace in given:
        trace["turns"] = [
            {key: value for key, value in turn.items() if key != "tool_call"}
            for turn in trace["turns"]
        ]
    traces.write_text("".join(f"{json.dumps(trace)}\n" for trace in given), "utf-8")
    words = ["--to", "sdpo", "--tokenizer", COMPOSER / "tokenizer.json", "--template", template]
    rows = run("export", *words, "--hints", hints, traces).rows
    expected = json.loads((COMPOSER / "offset_comparison.json").read_bytes())
    names = json.loads((COMPOSER / "vocab.json").read_bytes())
    text_of = {number: name for name, number in names.items()}
    for number, row in enumerate(rows):
        counted = expected[f"trace{number}"]
        assert row["length"] == counted["student_len_exact"]
        site = "".join(text_of[row["input_ids"][place]] for place in row["student_index"])
        assert site.removesuffix("<|im_end|>") == counted["student_site_text"]


def test_batch_of_traces(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The shapes that another program counted, in one batch; its hints come from a function."""
    template, traces = tmp_path / "chat.jinja", tmp_path / "t.jsonl"
    template.write_text(CHATML, "utf-8")
    told = "', '.join(meta['available_tools'])"
    function = f"def hint(kind, meta):\n    return 'Available: ' + {told} + '.'\n"
    (tmp_path / "composer_hints.py").write_text(function, "utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    given = [json.loads(line) for line in (COMPOSER / "traces.jsonl").read_bytes().splitlines()]
    for trace in given:
        for turn in trace["turns"]:
            turn.pop("tool_call", None)
    traces.write_text("".join(f"{json.dumps(trace)}\n" for trace in given), "utf-8")
    words = ["--to", "composer", "--tokenizer", COMPOSER / "tokenizer.json", "--template", template]
    ran = run("export", *words, "--hint-generator", "composer_hints:hint", traces)
    (batch,) = ran.rows
    expected = json.loads((COMPOSER / "offset_comparison.json").read_bytes())
    lengths = [sum(row) for row in batch["attention_mask"]]
    assert lengths == [expected[f"trace{number}"]["student_len_exact"] for number in range(2)]
    chosen = [sum(row) for row in batch["dpo_chosen_attention_mask"]]
    assert chosen == [expected[f"dpo{number}"]["exact_tokens"] for number in range(3)]
    assert len(batch["input_ids"][0]) == len(batch["ctx_teacher_input_ids"][0])
    assert batch["pair_trace"] == [0, 0, 1]
    names = json.loads((COMPOSER / "vocab.json").read_bytes())
    text_of = {number: name for name, number in names.items()}
    for number in range(2):
        for who, ids in (("student", "input_ids"), ("teacher", "ctx_teacher_input_ids")):
            both = zip(
                batch[f"{who}_response_idx"][number],
                batch[f"{who}_response_valid"][number],
                strict=True,
            )
            site = "".join(text_of[batch[ids][number][place]] for place, real in both if real)
            counted = expected[f"trace{number}"]["student_site_text"]
            assert site.removesuffix("<|im_end|>") == counted


# Rows whose fields are guessed --------------------------------------------------------------

GUESSED = ["openai", "skyrl", "rllm", "atropos", "art", "lm-eval", "swe", "ultrafeedback"]


def _files_of(folder: str) -> list[Path]:
    """The rollouts of a folder, without its README and expected answers."""
    told = ("README.md", "answer.json")
    files = sorted(path for path in (SAMPLES / folder).rglob("*") if path.is_file())
    return [path for path in files if path.name not in told]


@pytest.mark.parametrize("folder", GUESSED)
def test_no_pair_is_wrong(run: Any, folder: str) -> None:
    """Without options, a file gives the expected pairs or is rejected with a reason."""
    answers = json.loads((SAMPLES / folder / "answer.json").read_bytes())
    for path in _files_of(folder):
        ran = run("pair", "--min-gap", "0", path)
        if ran.code:
            assert (ran.rows, ran.errors.startswith("error: ")) == ([], True)
        else:
            assert len(ran.rows) == answers[str(path.relative_to(SAMPLES / folder))]["pairs"]


def test_ultrafeedback(run: Any) -> None:
    """The fine-grained score counts: the overall one is wrong in part of the data."""
    (rows,) = _files_of("ultrafeedback")
    (pair,) = run("pair", rows).rows
    assert [pair] == run("pair", "--score", "completions[].fine-grained_score", rows).rows
    answer = json.loads((rows.parent / "answer.json").read_bytes())["rows.jsonl"]
    expected = answer["detail"][0]["pair"]
    assert (pair["chosen_score"], pair["rejected_score"], pair["gap"]) == (
        expected["chosen_score"],
        expected["rejected_score"],
        expected["gap"],
    )


def test_trajectories_need_no_options(run: Any) -> None:
    """The conversation and the verdict are known; --prompt may name the conversation."""
    path = SAMPLES / "swe" / "nebius_openhands.jsonl"
    (pair,) = run("pair", path).rows
    assert (pair["chosen_score"], pair["rejected_score"]) == (1.0, 0.0)
    assert [pair] == run("pair", "--prompt", "trajectory", path).rows


def _expected(folder: str, name: str) -> list[Any]:
    """The pairs in a sample's answer.json: the IDs of the best and worst per group, and scores."""
    answer = json.loads((SAMPLES / folder / "answer.json").read_bytes())[name]
    pairs = [group["pair"] for group in answer["detail"]]
    return [pair for pair in pairs if pair is not None]


def _told(pair: dict[str, Any], side: str) -> str:
    """How answer.json names a side: its line and choice."""
    line = pair[f"{side}_origin"].rpartition(":")[2].partition("#")[0]
    return f"L{line}.c{pair[f'{side}_index']}"


def test_chat_completions(run: Any) -> None:
    """Choices are answers, each with its own score and reasoning; one of them was truncated."""
    paths = ["--response", "completion.choices[].message", "--score", "scores[]"]
    file = SAMPLES / "openai" / "scored_n4.jsonl"
    ran = run("pair", file, *paths, "--drop-rows", "incomplete")
    assert ran.summary["candidates"]["dropped"] == {"incomplete": 1}
    expected = _expected("openai", file.name)
    for pair, right in zip(ran.rows, expected, strict=True):
        assert _told(pair, "chosen") in right["chosen"]
        assert _told(pair, "rejected") in right["rejected"]
        assert (pair["chosen_score"], pair["gap"]) == (right["chosen_score"], right["gap"])
    assert ran.rows == run("pair", file, *paths).rows
    whole = run("pair", file, *paths, "--strategy", "exhaustive", "--keep-rows", "incomplete")
    turns = [pair[side][0] for pair in whole.rows for side in ("chosen", "rejected")]
    assert {turn.get("reasoning_content") for turn in turns} >= {"2+3=5", "hm"}
    assert whole.summary["marked"] == {"rejected_incomplete": 2}


def test_ultrafeedback_by_position(run: Any, tmp_path: Path) -> None:
    """The right pair, and --keep takes the model of each side."""
    file, path = SAMPLES / "ultrafeedback" / "rows.jsonl", "completions[]"
    paths = ["--response", f"{path}.response", "--score", f"{path}.fine-grained_score"]
    ran = run("pair", file, *paths, "--keep", f"{path}.model")
    (right,) = _expected("ultrafeedback", file.name)
    (pair,) = ran.rows
    told = [f"L1.{pair['meta'][f'{side}_{path}.model']}" for side in ("chosen", "rejected")]
    assert told == [*right["chosen"], *right["rejected"]]
    assert pair["gap"] == right["gap"]
    figures = tmp_path / "figures.jsonl"
    out = str(tmp_path / "out.jsonl")
    assert main(["stats", out, "--json", "-o", str(figures), "-q"]) == 0
    wins = json.loads(figures.read_bytes())["wins"]
    assert wins[f"{path}.model"] == {"names": ["m1", "m2"], "wins": [[0, 0], [1, 0]]}
