"""Options of a submission from the command line, TOML, NAT's YAML or a recipe."""

import json
import shutil
from pathlib import Path

import pytest
from submit_kit import MODEL, record_of, told, write_dataset

from customizer_double import Double, running_double
from forked_prefpairs import Done, run

SAMPLE = Path(__file__).parents[3] / "sample_data" / "nat_workflow_output.json"
CONFIG = """\
entity_host = "{url}/"
datastore_host = "{url}"
namespace = "games"
dataset_name = "moves"
customization_config = "{model}"
poll_interval_seconds = 0.01

[hyperparameters]
epochs = 5
learning_rate = 1e-6

[hyperparameters.dpo]
preference_average_log_probs = true

[deployment_config]
gpu = 2
description = "Plays tic-tac-toe"
"""
YAML = """\
llms:
  inference_llm: {{_type: openai, api_key: "${{NOT_SET_ANYWHERE}}"}}
trajectory_builders:
  dpo_builder: {{_type: dpo_traj_builder, min_score_diff: 0.05, exhaustive_pairs: true}}
trainer_adapters:
  other_adapter: {{_type: nemo_customizer_trainer_adapter, entity_host: http://other.example}}
  nemo_adapter:
    _type: nemo_customizer_trainer_adapter
    entity_host: ${{HOST}}
    datastore_host: ${{HOST}}
    hf_token: ${{TOK:-}}
    namespace: games
    dataset_name: moves
    dataset_output_dir: null
    customization_config: {model}
    use_full_message_history: true
    hyperparameters:
      epochs: ${{EPOCHS}}
      learning_rate: 1.0e-6
      dpo: {{preference_average_log_probs: true}}
    deployment_config: {{gpu: 2, description: Plays tic-tac-toe}}
    poll_interval_seconds: 0.01
trainers:
  nemo_trainer:
    _type: nemo_customizer_trainer
    num_runs: 3
    max_pairs: 5000
    wait_for_completion: false
finetuning:
  trainer: nemo_trainer
  trajectory_builder: dpo_builder
  trainer_adapter: nemo_adapter
"""


def config_for(double: Double, folder: Path, more: str = "") -> str:
    """A configuration file."""
    path = folder / "customizer.toml"
    path.write_text(more + CONFIG.format(url=double.url, model=MODEL))
    return str(path)


def job_of(double: Double) -> dict[str, object]:
    """The only submitted job, without our own fields."""
    (body,) = double.bodies("POST /v1/customization/jobs")
    return {name: body[name] for name in ("config", "dataset", "hyperparameters")}


def test_a_configuration_and_the_command_line(tmp_path: Path) -> None:
    """The command line overrides the file, even with defaults and `false`."""
    folder = write_dataset(tmp_path / "data")
    with running_double() as double:
        config = config_for(double, tmp_path)
        words = ["--config", config, "--epochs", "3", "--preference-average-log-probs", "false"]
        done = told("submit", "customizer", str(folder), *words)
        assert (done.returncode, done.stderr) == (0, "")
        parameters = double.bodies("POST /v1/customization/jobs")[0]["hyperparameters"]
    assert (parameters["epochs"], parameters["learning_rate"]) == (3, 1e-6)
    assert parameters["dpo"]["preference_average_log_probs"] is False
    noted = record_of(folder)["options"]
    assert (noted["gpu"], noted["deployment_description"]) == (2, "Plays tic-tac-toe")


def test_the_configuration_of_nat(tmp_path: Path) -> None:
    """The job equals that of TOML; options of other steps are listed with their equivalents."""
    folder, other = write_dataset(tmp_path / "a"), write_dataset(tmp_path / "b")
    path = tmp_path / "config.yml"
    path.write_text(YAML.format(model=MODEL))
    with running_double() as double, running_double() as second:
        config = config_for(double, tmp_path)
        assert told("submit", "customizer", str(folder), "--config", config).returncode == 0
        env = {"HOST": second.url, "EPOCHS": "5"}
        words = ["--nat-config", str(path)]
        done = told("submit", "customizer", str(other), *words, env=env)
        assert done.returncode == 0
        assert job_of(second) == job_of(double)
        assert second.looks == 0
    assert done.stderr.splitlines() == [
        (
            "note: trainer_adapters.nemo_adapter.dataset_output_dir has no meaning here: "
            "export --out-dir writes the dataset"
        ),
        (
            "note: trainer_adapters.nemo_adapter.use_full_message_history has no meaning here: "
            "export writes all messages; --last-message only the last one"
        ),
        (
            "note: trainers.nemo_trainer.num_runs has no meaning here: "
            "pair reads the files of several runs: --group-by file"
        ),
        "note: trainers.nemo_trainer.max_pairs has no meaning here: sample --max-pairs",
        "note: trajectory_builders.dpo_builder.min_score_diff has no meaning here: pair --min-gap",
        (
            "note: trajectory_builders.dpo_builder.exhaustive_pairs has no meaning here: "
            "pair --strategy exhaustive or best-vs-worst"
        ),
    ]
    unset = told("submit", "customizer", str(other), *words, env={"HOST": "http://x"})
    assert unset.returncode == 2
    assert "epochs: the variable EPOCHS is not set" in unset.stderr


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("epoch = 3\n", "customizer.toml:1: unknown option: epoch\n\nhint: did you mean epochs?"),
        ("epochs = 0\n", "customizer.toml:1: epochs is 0: input should be greater than or equal"),
        ('epochs = "3"\n', "customizer.toml:1: epochs is '3': input should be a valid integer"),
        ("gpu = 1.5\n", "customizer.toml:1: gpu is 1.5: input should be a valid integer"),
        ("resume = true\n", "customizer.toml:1: unknown option: resume"),
        ('training_type = "ppo"\n', "customizer.toml:1: unknown --training-type: ppo"),
        ('namespace = "a/b"\n', "--namespace a/b: expected a name"),
        ('entity_host = "nmp.example.com"\n', "--entity-host is no address"),
        ('entity_host = "https://u:sekret@nmp.example"\n', "--entity-host has a user or password"),
        ('namespace = "${NOT_SET}"\n', "namespace: the variable NOT_SET is not set"),
        ("max_consecutive_status_failures = 11\n", "input should be less than or equal to 10"),
        ("learning_rate = 0.0\n", "--learning-rate is 0, expected more than 0"),
        ("hf_token = 3\n", "hf_token is no text"),
        ("[hyperparameters]\nepoch = 3\n", "unknown option in [hyperparameters]: epoch"),
        ("oops\n", "configurations are written in TOML"),
    ],
)
def test_what_is_wrong_in_a_configuration(line: str, error: str, tmp_path: Path) -> None:
    """Errors name the line and show no secret."""
    folder = write_dataset(tmp_path / "data")
    path = tmp_path / "customizer.toml"
    path.write_text(line)
    done = told("submit", "customizer", str(folder), "--config", str(path))
    assert done.returncode == 2
    assert error in done.stderr
    assert "sekret" not in done.stderr


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "submit customizer needs entity_host"),
        (["--resume", "--again"], "--resume and --again cannot be used together"),
        (["--no-wait", "--wait-for-completion", "true"], "cannot be used together"),
        (["--config", "a", "--nat-config", "b"], "--config and --nat-config cannot be used"),
        (["--token-from", "env:NOT_SET"], "needs entity_host"),
        (["--epochs", "0"], "--epochs is 0, expected 1 or more"),
        (["--deploy-on-completion", "yes"], "unknown --deploy-on-completion: yes"),
    ],
)
def test_what_is_wrong_on_the_command_line(words: list[str], error: str, tmp_path: Path) -> None:
    """The command exits 2 without connecting."""
    folder = write_dataset(tmp_path / "data")
    done = told("submit", "customizer", str(folder), *words)
    assert done.returncode == 2
    assert error in done.stderr


def test_what_the_second_generation_does_not_do(tmp_path: Path) -> None:
    """NeMo Platform trains all weights, so LoRA options are rejected."""
    folder = write_dataset(tmp_path, "customizer-rl")
    words = ["--entity-host", "http://x", "--namespace", "n", "--customization-config", "m"]
    done = told("submit", "customizer-rl", str(folder), *words, "--finetuning-type", "lora")
    assert done.returncode == 2
    assert "customizer-rl trains all weights with DPO" in done.stderr


def test_no_dataset_and_no_job(tmp_path: Path) -> None:
    """The error says what is missing, and which command makes it."""
    words = ["--entity-host", "http://x", "--datastore-host", "http://x", "--namespace", "n"]
    words += ["--customization-config", "m"]
    empty = told("submit", "customizer", str(tmp_path), *words)
    assert empty.returncode == 5
    assert "as `prefpairs export --to customizer` writes it" in empty.stderr
    for action in ("status", "watch", "cancel"):
        done = told("submit", action, str(tmp_path / "nothing"))
        assert done.returncode == 2
        assert done.stderr.endswith(
            "hint: --config FILE, or --entity-host URL "
            "(and, for customizer, --datastore-host URL)\n"
        )


RECIPE = """\
[read]
inputs = ["rollouts.json"]

[pair]
strategy = "exhaustive"

[split]
exact = true
by = "meta.example_id"
val_fraction = 0.5

[export]
to = "customizer"

[submit]
config = "customizer.toml"
resume = true
deploy_on_completion = true

[submit.hyperparameters]
epochs = 7

[write]
out_dir = "data"
"""


def run_recipe(folder: Path, *words: str) -> Done:
    """Run the recipe in its folder."""
    done = run("run", "--quiet", "recipe.toml", *words, cwd=folder)
    return Done(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_a_recipe_from_rollouts_to_a_deployed_model(tmp_path: Path) -> None:
    """The first run submits, the second finds it done. Secrets are in no manifest."""
    shutil.copy(SAMPLE, tmp_path / "rollouts.json")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    with running_double(token="sekret") as double:  # noqa: S106
        config_for(double, tmp_path, 'hf_token = "sekret"\n')
        for _ in range(2):
            done = run_recipe(tmp_path)
            assert (done.returncode, done.stderr) == (0, "")
        assert (len(double.jobs), len(double.deployments)) == (1, 1)
        assert double.bodies("POST /v1/customization/jobs")[0]["hyperparameters"]["epochs"] == 7
    manifest = (tmp_path / "data" / "manifest.json").read_text()
    assert json.loads(manifest)["recipe"]
    for path in (tmp_path / "data").rglob("*"):
        assert path.is_dir() or b"sekret" not in path.read_bytes()


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (
            'to = "customizer"',
            'to = "trl"',
            "recipe.toml:15: [submit] needs [export] to a training",
        ),
        ("resume = true", "epoch = 1", "recipe.toml:17: unknown word in [submit]: epoch"),
        ("resume = true", 'hf_token = "sekret"', "unknown word in [submit]: hf_token"),
        ("epochs = 7", "epochs = 0", "submit.epochs is 0"),
        ('config = "customizer.toml"', "", "submit customizer needs entity_host"),
    ],
)
def test_what_is_wrong_in_a_recipe(old: str, new: str, error: str, tmp_path: Path) -> None:
    """Errors in a recipe are found before anything is read."""
    shutil.copy(SAMPLE, tmp_path / "rollouts.json")
    (tmp_path / "recipe.toml").write_text(RECIPE.replace(old, new))
    with running_double() as double:
        config_for(double, tmp_path)
        done = run_recipe(tmp_path)
        assert double.seen == []
    assert done.returncode == 2
    assert error in done.stderr
    assert "sekret" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_a_recipe_that_is_only_shown(tmp_path: Path) -> None:
    """--dry-run says where the dataset would go."""
    shutil.copy(SAMPLE, tmp_path / "rollouts.json")
    (tmp_path / "recipe.toml").write_text(RECIPE)
    with running_double() as double:
        config_for(double, tmp_path)
        done = run_recipe(tmp_path, "--dry-run")
        assert double.seen == []
    assert done.returncode == 0
    assert 'submit      config = "customizer.toml", resume = true' in done.stdout


def test_the_configuration_of_nat_as_a_recipe(tmp_path: Path) -> None:
    """From the output of `nat eval` to the job; unsupported options are noted."""
    (tmp_path / "eval").mkdir()
    shutil.copy(SAMPLE, tmp_path / "eval" / "workflow_output.json")
    text = YAML.format(model=MODEL) + "eval: {general: {output_dir: eval}}\n"
    (tmp_path / "config.yml").write_text(text.replace("${TOK:-}", "sekret"))
    with running_double(token="sekret") as double:  # noqa: S106
        env = {"HOST": double.url, "EPOCHS": "5"}
        words = (
            "run",
            "config.yml",
            "--set",
            "split.exact=true",
            "--set",
            "split.val_fraction=0.5",
        )
        shown = run(*words, "--dry-run", cwd=tmp_path, env=env)
        assert shown.returncode == 0
        assert double.seen == []
        done = run(*words, cwd=tmp_path, env=env)
        assert done.returncode == 0
        assert double.bodies("POST /v1/customization/jobs")[0]["hyperparameters"]["epochs"] == 5
    assert b'pair        strategy = "exhaustive", min_gap = 0.05' in shown.stdout
    assert b"sample      max_pairs = 5000" in shown.stdout
    notes = [line for line in done.stderr.decode().splitlines() if "no meaning" in line]
    assert notes == [
        (
            "note: trainers.nemo_trainer.num_runs has no meaning here: "
            "pair reads the files of several runs: --group-by file"
        )
    ]
    for path in (tmp_path / "customizer-data").rglob("*"):
        assert path.is_dir() or b"sekret" not in path.read_bytes()
