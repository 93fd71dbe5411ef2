"""Runs trainers' own code on exported datasets.

TRAINERS=quick loads them with `datasets`, Together's check and our models of trainers; TRAINERS=all
trains with TRL and runs every consumer (see tests/consumers). Otherwise nothing is installed.
"""

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from docs_kit import commands_of, matches, pages, run

CONSUMERS = Path(__file__).parents[1] / "consumers"
ROWS = Path(__file__).parents[1] / "cases" / "export" / "trl" / "in.jsonl"
ROLLOUTS = Path(__file__).parents[2] / "sample_data" / "gym_rollouts.jsonl"
MODEL = ROLLOUTS.parent / "traces" / "model"
SHARED = Path(__file__).parents[3] / "shared" / "samples" / "nemo-gym"
SOURCE = str(Path(__file__).parents[2] / "src")
WITH_SOURCE = {**os.environ, "PYTHONPATH": SOURCE}
ASKED = os.environ.get("TRAINERS", "")

sys.path.append(str(CONSUMERS))
from venvs import python_of  # noqa: E402 - a program, not a package

HOW = "`make test-integration` runs it, with TRAINERS=all"
quick = pytest.mark.skipif(ASKED not in ("quick", "all"), reason=f"{HOW} or quick")
slow = pytest.mark.skipif(ASKED != "all", reason=HOW)

DATASETS = ("datasets-4.4.0", "datasets-4.8.5", "datasets-5.2.0")
OLD, *NEW = DATASETS
TYPED = (
    "trl",
    "trl-kto",
    "nemo-rl",
    "nemo-rl-ranked",
    "customizer",
    "customizer-rl",
    "llamafactory",
    "ms-swift",
    "openrlhf",
    "axolotl",
    "trinity",
    "ultrafeedback",
)


def prefpairs(*words: str | Path) -> None:
    """Run the program."""
    command: list[str | Path] = [sys.executable, "-m", "prefpairs", *words]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def told(program: str, path: Path, *options: str, environment: str | None = None) -> dict[str, Any]:
    """What a consumer reports about a file or folder."""
    python = python_of(environment or program)
    command: list[str | Path] = [python, CONSUMERS / f"{program}.py", path, *options]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of all kinds: our samples and, if available, real rollouts of NeMo Gym."""
    folder = tmp_path_factory.mktemp("pairs")
    rollouts = [ROLLOUTS, *sorted(SHARED.glob("*.jsonl"))]
    parts = [ROWS]
    for number, path in enumerate(rollouts):
        across = ["--strategy", "stratified", "--across-prompts", "--high-threshold", "0.1"]
        across += ["--low-threshold", "0", "--rejected-per-chosen", "2"]
        for name, words in (("within", ["--strategy", "exhaustive"]), ("across", across)):
            parts.append(folder / f"{number}-{name}.jsonl")
            options: list[str | Path] = [
                "--from",
                "nemo-gym",
                "--allow-empty",
                "-q",
                "-o",
                parts[-1],
            ]
            prefpairs("pair", *words, *options, path)
    prefpairs("split", "-q", "--exact", "--val-fraction", "0.3", *parts, "--out-dir", folder / "d")
    return folder / "d"


@pytest.fixture(scope="module")
def short_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs that are short enough for a model on CPU: our samples alone."""
    folder = tmp_path_factory.mktemp("short")
    prefpairs("pair", "-q", "--strategy", "exhaustive", ROLLOUTS, "-o", folder / "pairs.jsonl")
    prefpairs("split", "-q", "--exact", ROWS, folder / "pairs.jsonl", "--out-dir", folder / "d")
    return folder / "d"


def exported(pairs: Path, folder: Path, target: str, *words: str | Path) -> Path:
    """The dataset of a target."""
    prefpairs("export", "-q", "--to", target, *words, pairs, "--out-dir", folder)
    return folder


def data_files(folder: Path) -> list[Path]:
    """The files of a dataset that contain rows."""
    return sorted(folder.rglob("*.jsonl"))


@quick
@pytest.mark.parametrize("environment", DATASETS)
@pytest.mark.parametrize("target", TYPED)
def test_every_typed_file_loads(pairs: Path, tmp_path: Path, target: str, environment: str) -> None:
    """Each release of datasets that trainers pin loads each file without changes."""
    words = ["--tool-args", "string"] if environment == OLD and target.startswith("trl") else []
    for file in data_files(exported(pairs, tmp_path / "out", target, *words)):
        answer = told("hf_datasets", file, environment=environment)
        assert (answer["error"], answer["rows_out"]) == (None, answer["rows_in"])
        assert answer["facts"]["rows_changed_beyond_nulls"] == 0


@quick
@pytest.mark.parametrize("environment", NEW)
@pytest.mark.parametrize("target", ["trl", "trl-kto", "ultrafeedback"])
def test_folders_with_a_card_load(
    pairs: Path, tmp_path: Path, target: str, environment: str
) -> None:
    """Both splits load together, with the types of the card."""
    answer = told("hf_datasets", exported(pairs, tmp_path / "out", target), environment=environment)
    assert (answer["error"], answer["rows_out"]) == (None, answer["rows_in"])
    assert answer["facts"]["rows_changed_beyond_nulls"] == 0


@quick
@pytest.mark.parametrize("environment", DATASETS)
@pytest.mark.parametrize("target", ["trl", "nemo-rl-ranked", "nemo-rl"])
def test_a_large_file_whose_only_call_comes_last(
    tmp_path: Path, target: str, environment: str
) -> None:
    """36 MB of plain chats followed by one tool call can be loaded."""
    plain, *_, call, _, _, last = ROWS.read_text("utf-8").rstrip("\n").split("\n")
    row = json.loads(plain)
    with (tmp_path / "pairs.jsonl").open("w", encoding="utf-8") as file:
        for number in range(12_000):
            file.write(json.dumps({**row, "prompt": f"{number}? {'x' * 2900}"}) + "\n")
        file.write(f"{last}\n{call}\n")
    path = tmp_path / "out.jsonl"
    prefpairs("export", "-q", "--to", target, tmp_path / "pairs.jsonl", "-o", path)
    assert path.stat().st_size > 36_000_000
    answer = told("hf_datasets", path, environment=environment)
    assert (answer["error"], answer["rows_out"]) == (None, 12_002)


@quick
def test_together_takes_it(pairs: Path, tmp_path: Path) -> None:
    """Together's own check passes."""
    folder = exported(pairs, tmp_path / "out", "openai", "--host", "together")
    for file in data_files(folder):
        answer = told("together_check", file)
        assert answer["error"] is None
        assert [ledger["is_check_passed"] for ledger in answer["facts"]["reports"].values()] == [
            True
        ]


@quick
def test_models_of_the_agent_toolkit_load_trajectories(pairs: Path, tmp_path: Path) -> None:
    """Each line is a trajectory with one DPO item, and nothing in it is lost."""
    for file in data_files(exported(pairs, tmp_path / "out", "nat")):
        answer = told("nat_models", file)
        assert (answer["error"], answer["rows_out"]) == (None, answer["rows_in"])
        facts = answer["facts"]
        assert (facts["rows_changed"], facts["finite_rewards"]) == (0, answer["rows_in"])


@quick
@pytest.mark.parametrize("environment", DATASETS)
@pytest.mark.parametrize(
    ("target", "loader"),
    [("nemo-rl", "BinaryPreferenceDataset"), ("nemo-rl-ranked", "PreferenceDataset")],
)
def test_a_model_of_nemo_rl_trains_on_the_answer(
    pairs: Path, tmp_path: Path, target: str, loader: str, environment: str
) -> None:
    """Every row trains on two different assistant texts after one prompt."""
    for file in data_files(exported(pairs, tmp_path / "out", target)):
        answer = told("nemo_rl_model", file, "--class", loader, environment=environment)
        facts = answer["facts"]
        assert (answer["error"], answer["rows_out"]) == (None, answer["rows_in"])
        assert (facts["identical_sides"], facts["prompts_differ"]) == (0, 0)
        assert facts["trained_roles"] == {"assistant": 2 * answer["rows_in"]}


@quick
@pytest.mark.parametrize(
    ("target", "generation"), [("customizer", "microservices"), ("customizer-rl", "platform")]
)
def test_a_model_of_customizer_takes_it(
    pairs: Path, tmp_path: Path, target: str, generation: str
) -> None:
    """All rows have one schema and no empty text."""
    for file in data_files(exported(pairs, tmp_path / "out", target)):
        answer = told("customizer_model", file, "--generation", generation)
        assert (answer["error"], answer["rows_out"]) == (None, answer["rows_in"])
        assert answer["facts"]["empty_texts"] == 0


def rehearsed(*words: str | Path) -> tuple[int, dict[str, Any]]:
    """The result of `prefpairs rehearse` in an environment with TRL."""
    command = [python_of("trl"), "-m", "prefpairs", "rehearse", "--json", *words]
    done = subprocess.run(command, capture_output=True, text=True, env=WITH_SOURCE, check=False)
    answer: dict[str, Any] = json.loads(done.stdout)
    return done.returncode, answer


@slow
@pytest.mark.parametrize("words", [[], ["--turns", "all"], ["--reasoning-as", "field"]])
def test_trl_learns(short_pairs: Path, tmp_path: Path, words: list[str]) -> None:
    """The first loss is ln 2, no row is dropped, and after 20 steps the chosen side wins."""
    code, answer = rehearsed(exported(short_pairs, tmp_path / "out", "trl", *words))
    assert (code, answer["problems"]) == (0, [])
    assert answer["first_loss"] == pytest.approx(math.log(2), abs=1e-5)
    assert (answer["kept"], answer["trained"]) == (answer["loaded"], 8)
    assert answer["last_loss"] < 0.4


@slow
def test_trl_learns_from_parquet(tmp_path: Path) -> None:
    """TRL also trains on the same rows in Parquet, whose columns have types."""
    prefpairs("export", "-q", "--to", "trl", ROWS, "-o", tmp_path / "out.parquet")
    code, answer = rehearsed(tmp_path / "out.parquet")
    assert (code, answer["problems"], answer["kept"]) == (0, [], 7)


@slow
def test_a_rehearsal_leaves_nothing_behind(tmp_path: Path) -> None:
    """A rehearsal leaves no frozen objects; CUDA builds of torch complain about them at exit."""
    prefpairs("export", "-q", "--to", "trl", ROWS, "-o", tmp_path / "out.jsonl")
    program = (
        "import atexit, gc, sys\n"
        "atexit.register(lambda: print(gc.get_freeze_count(), file=sys.stderr))\n"
        "from prefpairs.cli.main import main\n"
        "sys.exit(main())"
    )
    command = [python_of("trl"), "-c", program, "rehearse", str(tmp_path / "out.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, env=WITH_SOURCE, check=True)
    assert done.stderr == "0\n"


@slow
def test_the_docs_rehearse(tmp_path: Path) -> None:
    """With TRL installed, the pages show the actual output of `rehearse`, too."""
    shown = 0
    for page in pages():
        commands = commands_of(page.read_text("utf-8"))
        if "import trl" in "".join(command.where for command in commands):
            folder = tmp_path / page.stem
            (folder / "bin").mkdir(parents=True)
            theirs, ours = python_of("trl"), sys.executable
            choice = f'case "$1" in rehearse) it={theirs};; *) it={ours};; esac'
            for name, script in (
                ("prefpairs", f'{choice}\nexec "$it" -m prefpairs "$@"'),
                ("python", f'exec {theirs} "$@"'),
            ):
                (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n", "utf-8")
                (folder / "bin" / name).chmod(0o755)
            outcomes = run(commands, folder, tools=folder / "bin", PYTHONPATH=SOURCE)
            assert len(outcomes) == len(commands), page
            for number, outcome in outcomes.items():
                assert matches(commands[number].shown, outcome.lines), (page, commands[number])
            shown += 1
    assert shown == 3


@slow
def test_a_dataset_that_does_not_train(tmp_path: Path) -> None:
    """Equal sides have no gradient; rows of another trainer do not start training."""
    equal = {"prompt": "Q", "chosen": " yes", "rejected": " yes"}
    (tmp_path / "equal.jsonl").write_text(f"{json.dumps(equal)}\n" * 2, "utf-8")
    code, answer = rehearsed(tmp_path / "equal.jsonl")
    assert (code, answer["problems"][:2]) == (
        4,
        ["2 of 2 rows have equal sides", "there is no gradient"],
    )
    prefpairs("export", "-q", "--to", "nemo-rl-ranked", ROWS, "-o", tmp_path / "ranked.jsonl")
    code, answer = rehearsed(tmp_path / "ranked.jsonl")
    assert (code, answer["trouble"]) == (4, "KeyError: 'chosen'")


@slow
def test_a_length_that_drops_rows(short_pairs: Path, tmp_path: Path) -> None:
    """Prompts as long as the limit are dropped by the trainer, and this is reported."""
    folder = exported(short_pairs, tmp_path / "out", "trl")
    code, answer = rehearsed("--max-length", "60", folder)
    assert code == 4
    assert answer["kept"] < answer["loaded"]


@slow
def test_trl_reward_learns(short_pairs: Path, tmp_path: Path) -> None:
    """The same file trains a reward model, without a margin."""
    answer = told("trl_reward", exported(short_pairs, tmp_path / "out", "trl"))
    facts = answer["facts"]
    assert (answer["error"], facts["rows_dropped"], facts["identical_sides"]) == (None, 0, 0)
    assert facts["margin_column"] is False
    assert facts["win_rate"] > 0.9


@slow
def test_trl_collator_takes_tokens(short_pairs: Path, tmp_path: Path) -> None:
    """Batches have the IDs that were written, and matching attention masks."""
    folder = exported(short_pairs, tmp_path / "out", "tokens", "--tokenizer", MODEL)
    facts = told("trl_collator", folder / "train.jsonl")["facts"]
    assert facts["rows_loaded"] > 3
    assert facts["rows_changed"] == 0


@slow
def test_tokens_of_real_chat_templates(short_pairs: Path, tmp_path: Path) -> None:
    """The IDs are those of transformers; our mask marks no token that TRL's variants do not."""
    told("trl_templates", tmp_path, "--make", str(MODEL / "tokenizer.json"))
    used = []
    for folder in sorted(tmp_path.iterdir()):
        words: list[str | Path] = ["--turns", "all", "--allow-empty", "-q"]
        words.append(short_pairs / "train.jsonl")
        command: list[str | Path] = [sys.executable, "-m", "prefpairs", "export", *words]
        command += ["--to", "tokens", "--tokenizer", folder, "-o", folder / "tokens.jsonl"]
        if subprocess.run(command, check=False, capture_output=True).returncode == 0:
            words += ["--template", folder / "tokenizer_config.json", "-o", folder / "chats.jsonl"]
            prefpairs("export", "--to", "trl", *words)
            used.append(folder.name)
    assert len(used) >= 35
    answer = told("trl_templates", tmp_path)
    assert (answer["error"], sorted(answer["facts"])) == (None, used)
    for name, facts in answer["facts"].items():
        assert (name, facts["ids_differ"], facts["beyond"]) == (name, 0, 0)
        # Text that templates add around or between the parts of a turn.
        thinks = {"<think>", "<think>\n\n</think>"}
        assert set(facts["left_out"]) <= {"", "<eos-of-model>", "<|start|>assistant", *thinks}, name
    assert sum(facts["answers"] for facts in answer["facts"].values()) > 500
    assert sum(facts["masks"] for facts in answer["facts"].values()) > 300


@slow
def test_trl_kto_learns(short_pairs: Path, tmp_path: Path) -> None:
    """The first loss is a half, and it falls."""
    folder = exported(short_pairs, tmp_path / "out", "trl-kto")
    facts = told("trl_kto", folder)["facts"]
    assert (facts["rows_dropped"], facts["first_loss_is_half"]) == (0, True)
    assert facts["last_loss"] < 0.4


@slow
def test_llamafactory_keeps_every_row(pairs: Path, tmp_path: Path) -> None:
    """Both sides of every row pass LLaMA-Factory's loader, converter and template."""
    answer = told("llamafactory", exported(pairs, tmp_path / "out", "llamafactory"))
    assert (answer["error"], answer["rows_out"]) == (None, answer["rows_in"])
    for dataset in answer["facts"]["datasets"].values():
        assert (dataset["aligned_without_answers"], dataset["identical_sides"]) == (0, 0)


@slow
def test_trinity_reads_the_folder_and_we_its_frames(short_pairs: Path, tmp_path: Path) -> None:
    """Trinity reads the folder with its own code; its frames can be read back as pairs."""
    folder, frames = exported(short_pairs, tmp_path / "out", "trinity"), tmp_path / "dpo.trxp"
    answer = told("trinity_rft", folder, "--frames", str(frames))
    facts = answer["facts"]
    assert (answer["error"], facts["mode"], facts["types"]) == (None, "train", ["dpo"])
    assert (facts["identical_sides"], facts["empty_sides"]) == (0, 0)
    rows = [json.loads(line) for line in (folder / "train.jsonl").read_bytes().splitlines()]
    assert answer["rows_out"] == len(rows) > facts["train_batch_size"] / 2
    for row, shown in zip(rows, answer["examples"], strict=False):
        assert shown["prompt"].endswith("<|im_start|>assistant\n")
        for side in ("chosen", "rejected"):
            assert row[side][0]["content"] in shown[side]
    prefpairs("pair", "-q", "--order", "input", frames, "-o", tmp_path / "back.jsonl")
    back = [json.loads(line) for line in (tmp_path / "back.jsonl").read_bytes().splitlines()]
    assert len(back) == len(rows)
    prefpairs("export", "-q", "--to", "tokens", tmp_path / "back.jsonl", "-o", tmp_path / "t.jsonl")
    for pair, line in zip(back, (tmp_path / "t.jsonl").read_bytes().splitlines(), strict=True):
        row = json.loads(line)
        for side in ("chosen", "rejected"):
            assert row["prompt_ids"] + row[f"{side}_ids"] == pair[f"{side}_tokens"]["ids"]


@slow
@pytest.mark.parametrize("suffix", ["trxp", "db"])
def test_trinity_reads_experiences(short_pairs: Path, tmp_path: Path, suffix: str) -> None:
    """Trinity's readers load every experience, split it as we do and pad it as we do."""
    rows = tmp_path / "rows.jsonl"
    made = [tmp_path / f"{name}.{suffix}" for name in ("pairs", "answers")]
    words: list[str | Path] = [
        "export",
        "-q",
        "--tokenizer",
        MODEL,
        "--turns",
        "first",
        short_pairs,
    ]
    prefpairs(*words, "--to", "trinity-experience", "--custom-fields", "-o", made[0])
    prefpairs(*words, "--to", "trinity-experience", "--single-turn", "-o", made[1])
    lengths = ["--pad-to", "9000", "--pad-prompt-to", "6000"]
    scored = tmp_path / "scored.jsonl"
    prefpairs("filter", "-q", "--min-gap", "0", short_pairs, "-o", scored)
    tokens: list[str | Path] = ["--tokenizer", MODEL, "--turns", "first", *lengths]
    prefpairs("export", "-q", "--to", "tokens", *tokens, scored, "-o", rows)
    own = [json.loads(line) for line in rows.read_bytes().splitlines()]

    pairs = told("trinity_experience", made[0], "--gather", "6000", "3000")
    facts = pairs["facts"]
    assert (pairs["error"], pairs["rows_out"]) == (None, len(own))
    assert facts["types"] == ["dpo"]
    assert facts["single_types"] == ["single_turn"]
    assert facts["custom_fields"] == [
        f"score_{name} torch.float32" for name in ("chosen", "gap", "rejected")
    ]
    assert [uid.rpartition("/")[2] for uid in facts["uids"]] == [row["pair_id"] for row in own]
    for name, column in (("gathered", "input_ids"), ("attended", "attention_mask")):
        sides = [row[f"{side}_{column}"] for row in own for side in ("chosen", "rejected")]
        padding = {id_of_padding} if (id_of_padding := own[0]["chosen_input_ids"][-1]) else set()
        same = [
            [0 if one in padding and name == "gathered" else one for one in each] for each in sides
        ]
        assert facts[name] == same

    answers = told("trinity_experience", made[1])
    assert answers["error"] is None
    assert answers["rows_out"] >= 2 * len(own)  # pairs without scores are among them
    assert answers["facts"]["types"] == ["multi_turn"]  # Trinity calls all answers with masks so
    assert all(any(mask) for mask in answers["facts"]["masks"])


@slow
def test_trinity_cuts_what_validate_says(tmp_path: Path) -> None:
    """`validate` predicts which answers lose their beginning to a template that adds thinking."""
    template = tmp_path / "thinks.jinja"
    template.write_text(
        "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n\n</think>\n\n{% endif %}"
    )
    folder = exported(ROWS, tmp_path / "out", "trinity")
    words: list[str | Path] = [
        "-m",
        "prefpairs",
        "validate",
        "-q",
        "--json",
        "--to",
        "trinity",
        "--template",
        template,
        folder,
    ]
    command: list[str | Path] = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    effects = [json.loads(line)["effect"] for line in done.stdout.splitlines()]
    answer = told("trinity_rft", folder, "--template", str(template))
    rows = [json.loads(line) for line in (folder / "train.jsonl").read_bytes().splitlines()]
    for row, shown in zip(rows, answer["examples"], strict=True):
        assert row["chosen"][0]["content"] not in shown["chosen"]
    nothing = effects.count("trains on nothing")
    assert (done.returncode, nothing + effects.count("trains on the wrong thing")) == (4, len(rows))
    # Trinity cuts by tokens, and special tokens are one each: at least as many answers are lost.
    assert answer["facts"]["identical_sides"] >= nothing > 0


@slow
@pytest.mark.parametrize(
    ("target", "options"),
    [
        ("axolotl", ["--sequence-len", "1000000"]),
        ("ms-swift", ["--max-length", "1000000"]),
        ("openrlhf", ["--prompt-key", "prompt", "--apply-chat-template", "--max-len", "200000"]),
    ],
)
def test_others_keep_every_row(
    pairs: Path, tmp_path: Path, target: str, options: list[str]
) -> None:
    """No row is dropped, no sides are equal, no text is cut in the wrong place."""
    for file in data_files(exported(pairs, tmp_path / "out", target)):
        answer = told(target.replace("-", "_"), file, *options)
        facts = answer["facts"]
        assert (answer["error"], answer["rows_out"]) == (None, answer["rows_in"])
        assert (facts["rows_dropped"], facts["identical_sides"]) == (0, 0)
        assert facts.get("dummy_left_in", 0) == facts.get("prompts_differ", 0) == 0
