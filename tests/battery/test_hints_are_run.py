"""Hints that contain a command: a run here reaches each one, and it works as printed.

The hints are collected from the source code: every text given to an error as its hint that
contains a command or an option. A hint that no run here reaches fails the last test.
"""

import ast
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from submit_kit import MODEL, write_dataset

from customizer_double import Double, running_double
from forked_prefpairs import in_shells

SOURCES = Path(__file__).parents[2] / "src" / "prefpairs"
CASES = Path(__file__).parents[1] / "cases"

OPTION = re.compile(r"(?:^|[ ;(`])(--[a-z][a-z-]+)")
COMMAND = re.compile(r"`((?:prefpairs|jq|git|zstd) [^`]*)`|(?:^|: )((?:prefpairs|zstd) .*)$")

HINT_AT = {
    "UsageError": 1,
    "UnknownWord": 3,
    "OtherRows": 1,
    "BadInput": 2,
    "NothingCameOut": 1,
    "NotThere": 2,
    "WouldBeLost": 4,
    "ServiceRefused": 2,
    "ServiceUnreachable": 2,
    "NotReadyInTime": 2,
    "OptionNeeds": 2,
}
"""The position of the hint among an error's arguments."""

TABLES = ("_REMEDIES", "_OF_LOSSES", "_OF_GROUPS", "_NO_TTC", "_FEWER", "_EMPTY_SIDE")
WORDING = {f"cli/terminal/{name}.py" for name in ("error_text", "next_steps", "validation_text")}
"""Modules whose functions return hints or assign them to a variable of that kind."""


class Run(NamedTuple):
    """A command that ends with a hint, and how the hint is checked."""

    typed: str
    """The command line; its files are in the folder."""
    hint: str
    """The hint as printed; $SERVICE is the address of the service."""
    then: str | None = None
    """The command line to run next if the hint only names options; {} is the original one."""
    code: int = 0
    service: Mapping[str, Any] = {}
    """How the service behaves until the hint is followed."""


SUBMIT = "prefpairs submit customizer data --config job.toml"
DEPLOY = "--deploy-on-completion true"
KILLED = (
    "cd data && "
    """sed -e '/"id":/,/"status":/d' -e 's/"submitted",/"asked"/' submission.json > killed && """
    "mv killed submission.json && cd .."
)
"""Reduces the job's record to what a killed run leaves: that the job was requested."""
IN_STEPS = "prefpairs pair --quiet --runner shards --order key --out-dir"
CHANGED = "cd data/training && tail -n +2 *.jsonl > rows && mv rows *.jsonl && cd ../.."

RUNS = [
    # hints that are whole commands
    Run("prefpairs pair pairs.jsonl", "prefpairs export --to trl pairs.jsonl"),
    Run("prefpairs extract pairs.jsonl", "prefpairs export --to trl pairs.jsonl"),
    Run(
        "prefpairs pair --to nemo-rl --min-gap 0.1 --out-dir made pairs.jsonl",
        "prefpairs export --to nemo-rl --out-dir made pairs.jsonl",
    ),
    Run("prefpairs show --group a pairs.jsonl", "prefpairs show pairs.jsonl"),
    Run("prefpairs show -n3 --min-gap 1 pairs.jsonl", "prefpairs show -n 3 pairs.jsonl"),
    Run("prefpairs stats --strategy random pairs.jsonl", "prefpairs stats pairs.jsonl"),
    Run("prefpairs stats --from generic pairs.jsonl", "prefpairs stats pairs.jsonl"),
    Run(
        "prefpairs report --strategy random pairs.jsonl -o page.html",
        "prefpairs report pairs.jsonl -o page.html",
    ),
    Run("prefpairs dedupe rollouts.jsonl", "prefpairs pair rollouts.jsonl | prefpairs dedupe"),
    Run(
        "cat rollouts.jsonl | prefpairs dedupe",
        "prefpairs pair | prefpairs dedupe",
        "cat rollouts.jsonl | (prefpairs pair | prefpairs dedupe)",
    ),
    Run(
        "prefpairs filter --min-gap=0.1 rollouts.jsonl",
        "prefpairs pair rollouts.jsonl | prefpairs filter --min-gap=0.1",
    ),
    Run(
        "prefpairs sample -qn 8 --max-pairs 2 rollouts.jsonl",
        "prefpairs pair rollouts.jsonl | prefpairs sample -q -n 8 --max-pairs 2",
    ),
    Run(
        "prefpairs split rollouts.jsonl --out-dir new",
        "prefpairs pair rollouts.jsonl | prefpairs split --out-dir new",
    ),
    Run("prefpairs show rollouts.jsonl", "prefpairs pair rollouts.jsonl | prefpairs show"),
    Run(
        "prefpairs stats --from pairs rollouts.jsonl",
        "prefpairs pair rollouts.jsonl | prefpairs stats",
    ),
    Run(
        "prefpairs diff pairs.jsonl rollouts.jsonl",
        "prefpairs pair rollouts.jsonl | prefpairs diff pairs.jsonl -",
    ),
    Run("prefpairs export --to trl rollouts.jsonl", "prefpairs pair --to trl rollouts.jsonl"),
    Run(
        "prefpairs export --from traces --to trl traces.jsonl",
        "prefpairs pair --to trl traces.jsonl",
    ),
    Run("prefpairs validate --to trl rollouts.jsonl", "prefpairs pair --to trl rollouts.jsonl"),
    Run(
        "prefpairs validate --to trl foreign.jsonl",
        "prefpairs export --to trl --on-error skip foreign.jsonl",
    ),
    Run(
        "prefpairs validate --to trl foreign.jsonl leak/val.jsonl",
        "prefpairs export --to trl --on-error skip foreign.jsonl leak/val.jsonl "
        "--out-dir export-for-trl",
    ),
    Run(
        "prefpairs validate --to trl leak/train.jsonl leak/val.jsonl",
        "prefpairs split --for trl leak/train.jsonl leak/val.jsonl --out-dir split-for-trl",
    ),
    Run(
        "prefpairs export --to trl leak2 --out-dir made",
        "prefpairs split --for trl --out-dir split-for-trl leak2",
    ),
    Run("prefpairs pair two.jsonl", "prefpairs pair --score reward two.jsonl"),
    Run(
        "prefpairs run two.toml --set read.limit=9",
        "prefpairs run --set 'read.score=\"reward\"' two.toml --set read.limit=9",
    ),
    Run("prefpairs pear", "did you mean pair?", "prefpairs pair rollouts.jsonl"),
    Run("prefpairs xyzzy", "`prefpairs --help` lists the commands"),
    Run("prefpairs pair --xyzzy", "`prefpairs pair --help` lists them"),
    Run("prefpairs pair --xyzzy=1 -- rollouts.jsonl", "`prefpairs pair --help` lists them"),
    Run(
        "prefpairs show --id abc pairs.jsonl",
        "ids name the content, and change with it; `jq -r .id` lists those of a file",
        "prefpairs diff --ids added leak/val.jsonl pairs.jsonl | prefpairs show --id - pairs.jsonl",
    ),
    # hints that name options
    Run(
        "prefpairs pair one_bad.jsonl",
        "leave out bad rows with --on-error skip, "
        "or save them with --on-error quarantine --quarantine FILE",
        "{0} --on-error skip && {0} --on-error quarantine --quarantine bad.jsonl",
    ),
    Run(
        "prefpairs pair torn.jsonl",
        "is the file still being written? --on-error skip leaves out incomplete rows",
        "{} --on-error skip",
    ),
    Run(
        "prefpairs pair texts.jsonl",
        "--cast-score reads numbers written as text",
        "{} --cast-score",
    ),
    Run(
        "prefpairs pair several.jsonl",
        "score has a and b; choose one: --score score.a, or add several with weights: "
        "--score score.a --score score.b:0.2",
        "{0} --score score.a && {0} --score score.a --score score.b:0.2",
    ),
    Run(
        "prefpairs pair single.jsonl",
        "score has a; choose one: --score score.a",
        "{} --score score.a",
    ),
    Run(
        "prefpairs pair unnamed.jsonl",
        "name it with --score PATH; the rows have: prompt, response, mark",
        "{} --score mark",
    ),
    Run(
        "prefpairs pair --score score unscored.jsonl",
        "8 rows: the score is missing; name the field of the score with --score PATH",
        "prefpairs pair --score mark unscored.jsonl",
    ),
    Run(
        "prefpairs sample pairs.jsonl",
        "--max-pairs N, --fraction F, --per-group N or --order",
        "{} --max-pairs 2",
    ),
    Run("prefpairs split pairs.jsonl", "--out-dir DIR says where", "{} --out-dir new"),
    Run("prefpairs filter pairs.jsonl", "--help lists them", "{} --help"),
    Run(
        "prefpairs pair --require pairs rollouts.jsonl",
        "--require 'pairs>=5000'",
        "prefpairs pair --require 'pairs>=1' rollouts.jsonl",
    ),
    Run(
        "prefpairs run recipe.toml --set x",
        "--set pair.min_gap=0.3",
        "prefpairs run recipe.toml --set pair.min_gap=0.3",
    ),
    Run(
        "prefpairs split pairs.jsonl --out-dir strange",
        "--force replaces it; another --out-dir leaves it alone",
        "{} --force && prefpairs split pairs.jsonl --out-dir another",
    ),
    Run(
        "prefpairs export --to nemo-rl --lossy refuse thinking.jsonl",
        "--lossy flatten converts such content, --lossy drop leaves out such pairs",
        "prefpairs export --to nemo-rl --lossy flatten thinking.jsonl && "
        "prefpairs export --to nemo-rl --lossy drop --allow-empty thinking.jsonl",
    ),
    Run(
        "prefpairs pair --prompt prompt unasked.jsonl",
        "8 rows: the prompt is missing or empty; name the field of the prompt with --prompt PATH",
        "prefpairs pair --prompt asked unasked.jsonl",
    ),
    Run(
        "prefpairs pair --response response unanswered.jsonl",
        "8 rows: the response is missing; name the field of the response with --response PATH",
        "prefpairs pair --response said unanswered.jsonl",
    ),
    Run(
        "prefpairs pair alone.jsonl",
        "4 groups: no prompt has two answers to compare; generate several rollouts per prompt, or "
        "pair answers to different prompts with --strategy stratified --across-prompts",
        "{} --strategy stratified --across-prompts",
    ),
    Run(
        "prefpairs pair --min-gap 5 rollouts.jsonl",
        "4 groups: no pair is within --min-gap and the other limits; try wider limits",
        "prefpairs pair --min-gap 0.5 rollouts.jsonl",
    ),
    Run(
        "prefpairs pair --assume-grouped scattered.jsonl",
        "sort by group, or omit --assume-grouped",
        "prefpairs pair scattered.jsonl && sort scattered.jsonl | prefpairs pair --assume-grouped",
    ),
    Run(
        "prefpairs pair nat.jsonl",
        "1 row: none of the row's TTC_END steps has the name given by --step-name; "
        "--step-name NAME selects steps with another name",
        "{} --step-name move",
    ),
    Run(
        "prefpairs pair --strategy exhaustive flood.jsonl",
        "limit them with --max-pairs-per-group or --rejected-per-chosen, or use --yes-all",
        "{0} --max-pairs-per-group 2 && {0} --yes-all | head -n 1",
    ),
    Run(
        "prefpairs pair --strategy stratified --across-prompts --max-pairs-per-group 2 alone.jsonl",
        "use --rejected-per-chosen to set how many pairs a chosen answer gets",
        "prefpairs pair --strategy stratified --across-prompts --rejected-per-chosen 2 alone.jsonl",
    ),
    Run(
        "prefpairs pair --lower-is-better --keep-rows no_score rollouts.jsonl",
        "omit it, or do without --lower-is-better",
        "prefpairs pair --lower-is-better rollouts.jsonl && "
        "prefpairs pair --keep-rows no_score rollouts.jsonl",
    ),
    Run(
        "prefpairs pair --max-line 10B rollouts.jsonl",
        "--max-line SIZE allows longer lines",
        "prefpairs pair --max-line 1KB rollouts.jsonl",
    ),
    Run(
        r"printf '{\n\"prompt\":\"Q\",\"rollouts\":[{\"text\":\"A\",\"score\":1},"
        r"{\"text\":\"B\",\"score\":0}]\n}\n' > document.json; "
        "prefpairs pair --max-line 10B document.json",
        "--max-line SIZE allows longer ones",
        "prefpairs pair --max-line 1KB document.json",
    ),
    Run(
        "prefpairs pair --score-map C=one rollouts.jsonl",
        "as in --score-map C=1,P=0.5,I=0",
        "prefpairs pair --score-map C=1,P=0.5,I=0 rollouts.jsonl",
    ),
    Run(
        "prefpairs validate --to trl --max-line 10B pairs.jsonl",
        "--max-line SIZE allows longer lines",
        "prefpairs validate --to trl --max-line 1KB dataset.jsonl",
    ),
    Run(
        "gzip -kf rollouts.jsonl; prefpairs pair --max-unpacked 10B rollouts.jsonl.gz",
        "--max-unpacked SIZE allows more",
        "prefpairs pair --max-unpacked 1MB rollouts.jsonl.gz",
    ),
    Run(
        "prefpairs diff pairs.jsonl",
        "usage: prefpairs diff BEFORE AFTER",
        "prefpairs diff pairs.jsonl leak/train.jsonl",
    ),
    Run(
        "prefpairs dedupe --against reference.jsonl pairs.jsonl",
        "--against-field PATH says where prompts stand",
        "{} --against-field asked",
    ),
    Run(
        "prefpairs split pairs.jsonl --like leak --exact --out-dir new",
        "omit --exact",
        "prefpairs split pairs.jsonl --like leak --out-dir new",
    ),
    Run(
        "prefpairs pair --strategy stratified --across-prompts alone.jsonl -o across.jsonl; "
        "prefpairs split --for trl across.jsonl --out-dir new",
        "without --for, split keeps both prompts on one side, and export drops pairs that would "
        "leak",
        "prefpairs split across.jsonl --out-dir new --exact --val-fraction 0.5 && "
        "prefpairs export --to trl new --out-dir made --allow-empty",
    ),
    Run(
        "prefpairs validate --to trl --max-chars 12 dataset.jsonl",
        "limit lengths with filter: --max-tokens, --max-prompt-chars, --max-answer-chars",
        "prefpairs filter --max-prompt-chars 1000 pairs.jsonl",
    ),
    Run(
        "prefpairs export --to trl empty --out-dir made",
        "split --exact fills every side of a small data set; "
        "--allow-empty writes a file without rows",
        "prefpairs split --exact pairs.jsonl --out-dir new && {} --allow-empty",
    ),
    Run(
        "echo [] > manifest.json; prefpairs run recipe.toml --set write.output=p.jsonl",
        "[write] manifest = FILE names another place, --force replaces it",
        "prefpairs run recipe.toml --set write.output=p.jsonl --set write.manifest=m.json && "
        "prefpairs run recipe.toml --set write.output=p.jsonl --force",
    ),
    Run(
        "cd tokens && prefpairs export --to tokens --tokenizer model --keep-end in.jsonl",
        "--max-tokens N, or --pad-to N",
        "{0} --max-tokens 999 && cd .. && {0} --pad-to 999",
    ),
    Run(
        "cd tokens && prefpairs export --to tokens --tokenizer model/tokenizer.json in.jsonl",
        "--template FILE, or --tokenizer DIR with the files of a model",
        "{} --template model/chat_template.jinja && "
        "prefpairs export --to tokens --tokenizer model in.jsonl",
    ),
    Run(
        "cd tokens && mkdir bare && cp model/tokenizer.json bare && "
        "prefpairs export --to tokens --tokenizer bare --template eos.jinja in.jsonl",
        "--tokenizer DIR, with the tokenizer_config.json of the model",
        "cd tokens && prefpairs export --to tokens --tokenizer model --template eos.jinja in.jsonl",
    ),
    Run(
        "cd tokens && prefpairs export --to tokens --tokenizer model --pad-prompt-to 2000 in.jsonl",
        "--pad-to N, the length of both",
        "{} --pad-to 9999",
    ),
    Run(
        "cd sdpo && prefpairs export --to sdpo traces.jsonl",
        "--tokenizer DIR, the folder of a model",
        "{} --tokenizer model",
    ),
    Run(
        "prefpairs pair --out-dir made rollouts.jsonl",
        "-o FILE writes one file",
        "{} --to trl && prefpairs pair -o p.jsonl rollouts.jsonl",
    ),
    # hints that need a service, on loopback
    Run(
        'echo \'{"prompt": "x"}\' >> data/training/training_file.jsonl; ' + SUBMIT,
        "prefpairs validate --to customizer data",
        code=4,
    ),
    Run(
        "grep -v namespace job.toml > part.toml; "
        "prefpairs submit customizer data --config part.toml",
        "--namespace, or namespace in --config FILE",
        "prefpairs submit customizer data --config part.toml --namespace games && "
        f"{SUBMIT} --again",
    ),
    Run(
        "prefpairs submit customizer-rl data-rl --config job.toml --finetuning-type lora",
        "omit --finetuning-type and --training-type",
        "prefpairs submit customizer-rl data-rl --config job.toml",
    ),
    Run(
        f"{SUBMIT} --entity-host http://me:secret@127.0.0.1",
        "a token goes into --token-from env:NAME",
        f"NAME=secret {SUBMIT} --token-from env:NAME",
    ),
    Run(
        f"{SUBMIT} && {SUBMIT}",
        "--resume goes on with it, --again submits it once more",
        f"{SUBMIT} --resume && {SUBMIT} --again",
    ),
    Run(
        f"{SUBMIT} && {SUBMIT} --resume --namespace other",
        "--resume needs the same hosts, namespace and dataset_name",
        f"{SUBMIT} --resume",
    ),
    Run(
        f"{SUBMIT} && {KILLED} && {SUBMIT}",
        "--resume finds out",
        f"{SUBMIT} --resume",
    ),
    Run(
        f"{SUBMIT} && {KILLED} && {SUBMIT} --again",
        "--resume goes on with it, --again submits it once more",
        f"{SUBMIT} --resume && {SUBMIT} --again",
    ),
    Run(
        f"{SUBMIT} && {KILLED} && {CHANGED} && {SUBMIT} --resume",
        "--again --overwrite submits this one in its place; --again --dataset-name NAME keeps both",
        f"{SUBMIT} --again --overwrite && {CHANGED} && {SUBMIT} --again --dataset-name both",
    ),
    Run(
        f"{SUBMIT} && {KILLED} && {CHANGED} && {SUBMIT} --again --overwrite "
        "--entity-host http://localhost:1",
        "--entity-host $SERVICE looks for it there",
        f"{SUBMIT} --again --overwrite --entity-host $SERVICE",
    ),
    Run(
        f"{SUBMIT} && {CHANGED} && {SUBMIT} --resume",
        "--again --overwrite submits this one in its place; --again --dataset-name NAME keeps both",
        f"{SUBMIT} --again --overwrite && {CHANGED} && {SUBMIT} --again --dataset-name both",
    ),
    Run(
        f"{SUBMIT} && {KILLED} && prefpairs submit status data",
        "--resume of the submission finds or submits it",
        f"{SUBMIT} --resume && prefpairs submit status data",
    ),
    Run(
        f"{SUBMIT} --request-timeout-seconds 9",
        "--resume looks for the job",
        "{} --resume",
        service={"faults": {8: "empty"}},
    ),
    Run(
        f"{SUBMIT} --request-timeout-seconds 8",
        "--resume sends it again",
        "{} --resume",
        service={"faults": {6: "empty"}},
    ),
    Run(
        f"{SUBMIT} --request-timeout-seconds 7",
        "--token-from env:NAME, huggingface or FILE says where the token is",
        "NAME=secret {} --resume --token-from env:NAME",
        service={"faults": {1: "401"}},
    ),
    Run(
        f"{SUBMIT} --request-timeout-seconds 6",
        "if it is right: --storage-host $STORAGE",
        "{} --resume --storage-host $STORAGE",
        service={"lfs_from": 1},
    ),
    Run(
        f"{SUBMIT} && {CHANGED} && {SUBMIT} --again",
        "--dataset-name NAME takes another name; --overwrite replaces them",
        f"{SUBMIT} --again --dataset-name other && {CHANGED} && {SUBMIT} --again --overwrite",
    ),
    Run(
        f"{SUBMIT} {DEPLOY} --deployment-name mine && "
        f"{SUBMIT} {DEPLOY} --deployment-name mine --again",
        "--deployment-name NAME takes another name",
        f"{SUBMIT} {DEPLOY} --deployment-name other --resume",
    ),
    Run(
        f"{SUBMIT} {DEPLOY}",
        "--again --output-model NAME trains one with a name",
        "{} --again --output-model games/mine",
        service={"faults": {8: "unnamed"}},
    ),
    Run(
        f"{SUBMIT} {DEPLOY} --deployment-timeout-seconds 0.1",
        "`prefpairs submit watch data` waits again",
        service={"deployment_script": ["pending"]},
    ),
    Run(
        f"{SUBMIT} --max-consecutive-status-failures 1",
        "the job goes on; `prefpairs submit watch data` looks again",
        service={"faults": {9: "500"}},
    ),
    Run(
        f"{SUBMIT} && prefpairs submit status cust-1",
        "--config FILE, or --entity-host URL (and, for customizer, --datastore-host URL)",
        "prefpairs submit status cust-1 --config job.toml && "
        "prefpairs submit status cust-1 --entity-host $SERVICE --datastore-host $SERVICE && "
        "prefpairs submit customizer-rl data-rl --config job.toml --dataset-name rl && "
        "prefpairs submit status rl-2 --entity-host $SERVICE",
    ),
    # runs in steps
    Run(
        "prefpairs shards 1 made",
        "`prefpairs pair --runner shards --order key --out-dir DIR INPUT` makes one",
        f"{IN_STEPS} made rollouts.jsonl && prefpairs shards 1 made",
    ),
    Run(
        f"{IN_STEPS} made rollouts.jsonl && prefpairs shards 2 made",
        "`prefpairs shards 1 $FOLDER/made 0/1` does it",
    ),
    Run(
        f"{IN_STEPS} made rollouts.jsonl && prefpairs shards 1 -q made && "
        "prefpairs shards 2 -q made && echo '[\"part\"]' > made/.shards/placed.json && "
        f"{IN_STEPS} made --min-gap 1 rollouts.jsonl",
        "`prefpairs shards finish made` completes it",
    ),
    Run(
        f"{IN_STEPS} strange rollouts.jsonl",
        "name a new directory, or leave those files in it with --force",
        "{} --force",
    ),
    Run(
        f"{IN_STEPS} made --strategy stratified --across-prompts rollouts.jsonl",
        "use --runner local",
        "prefpairs pair --runner local --strategy stratified --across-prompts rollouts.jsonl",
    ),
    Run(
        "prefpairs sample --runner shards --max-pairs 2 --out-dir made pairs.jsonl",
        "use --runner local, or --fraction",
        "prefpairs sample --runner local --max-pairs 2 pairs.jsonl && "
        "prefpairs sample --runner shards --fraction 0.5 --out-dir made pairs.jsonl",
    ),
    Run(
        "prefpairs run recipe.toml --runner shards --set write.out_dir=made",
        "--set pair.order=key writes them in an order that does not depend on the input's",
        "{} --set pair.order=key",
    ),
    Run(
        "prefpairs dedupe --runner shards --by chosen --out-dir made pairs.jsonl",
        "use --runner local, or add prompt to --by",
        "prefpairs dedupe --runner local --by chosen pairs.jsonl && "
        "prefpairs dedupe --runner shards --by prompt,chosen --out-dir made pairs.jsonl",
    ),
    Run(
        "prefpairs split --runner shards --exact --out-dir made pairs.jsonl",
        "leave it out, or use --runner local",
        "prefpairs split --runner shards --out-dir made pairs.jsonl && "
        "prefpairs split --runner local --exact --out-dir other pairs.jsonl",
    ),
    Run(
        "prefpairs split --out-dir old pairs.jsonl && "
        "prefpairs split --runner shards --like old --out-dir old pairs.jsonl",
        "--out-dir NEW_DIR, not the one of --like",
        "prefpairs split --runner shards --like old --out-dir new pairs.jsonl",
    ),
    Run(
        f"{IN_STEPS} made rollouts.jsonl && prefpairs shards 3 made",
        "one of 1, 2, finish",
        "prefpairs shards 1 made",
    ),
    Run(
        f"{IN_STEPS} made rollouts.jsonl && prefpairs shards map made",
        "as in 1, 2 or finish",
        "prefpairs shards 1 made && prefpairs shards 2 made && prefpairs shards finish made",
    ),
    Run(
        f"{IN_STEPS} made ready.jsonl && prefpairs shards 1 made",
        "pair this file with --runner local",
        "prefpairs pair --runner local --order key ready.jsonl",
    ),
]

NOT_RUN = {
    "inputs and --out-dir must be on a file system that all nodes share": "needs a second machine",
    "fetch the file with `git lfs pull`": "needs a repository",
    "write one JSON value per line with `jq -c .`": "needs jq",
    "`zstd -dc FILE | zstd > NEW` compresses it again": "needs zstd",
    "`zstd -dc --long=31 FILE | zstd > NEW` compresses it again": "needs zstd",
    "--group-by names a field that no row has": "says why, and nothing to type",
}
"""Hints that cannot be reached in a test."""


def _write(name: str, *rows: object, more: str = "") -> None:
    path = Path(name)
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows) + more)


def _rollouts(**score: object) -> list[dict[str, object]]:
    """Two answers to each of four prompts; `score` is the score of the second one."""
    lower = {
        name: type(value)(0) if isinstance(value, (int, str)) else value
        for name, value in score.items()
    }
    return [
        {"prompt": f"Question {number}?", "response": f"answer {side}", **given}
        for number in range(4)
        for side, given in enumerate((lower, score))
    ]


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    """A training service; shells get its address as $SERVICE and its storage as $STORAGE."""
    with running_double() as double:
        double.lfs_host = double.url.replace("127.0.0.1", "localhost")
        monkeypatch.setenv("SERVICE", double.url)
        monkeypatch.setenv("STORAGE", double.lfs_host)
        yield double


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, service: Double) -> Path:
    """A folder with the files that the commands name."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOLDER", os.path.realpath(tmp_path))
    pairs = [
        {
            "prompt": f"Question {n}?",
            "chosen": "yes",
            "rejected": "no",
            "chosen_score": 1.0,
            "rejected_score": 0.0,
        }
        for n in range(20)
    ]
    rollouts = _rollouts(score=1)
    _write("pairs.jsonl", *pairs)
    _write("rollouts.jsonl", *rollouts)
    _write("one_bad.jsonl", *rollouts, more="{oops}\n")
    _write("torn.jsonl", *rollouts, more='{"prompt": "Question')
    _write("texts.jsonl", *_rollouts(score="1"))
    _write(
        "two.jsonl",
        *_rollouts(score=1, reward=2),
        {"prompt": "Q", "response": "A", "score": 1, "reward": 0},
    )
    _write("several.jsonl", *({**row, "score": {"a": n, "b": 1}} for n, row in enumerate(rollouts)))
    _write("single.jsonl", *({**row, "score": {"a": n}} for n, row in enumerate(rollouts)))
    _write("unnamed.jsonl", *_rollouts(mark=1))
    _write("unscored.jsonl", *({**row, "score": None} for row in _rollouts(mark=1)))
    _write(
        "foreign.jsonl",
        *(
            {
                "context": [{"role": "user", "content": row["prompt"]}],
                "completions": [
                    {"rank": 0, "completion": [{"role": "assistant", "content": "yes"}]},
                    {"rank": 1, "completion": [{"role": "assistant", "content": "no"}]},
                ],
            }
            for row in pairs
        ),
    )
    _write("leak/train.jsonl", *pairs)
    _write("leak/val.jsonl", pairs[0])
    _write("strange/test.jsonl", {"mine": 1})
    _write("leak2/train.jsonl", *pairs[:10])
    _write("leak2/val.jsonl", *pairs[:10])
    _write("unasked.jsonl", *({**row, "asked": row["prompt"], "prompt": None} for row in rollouts))
    unanswered = ({**row, "said": row["response"], "response": None} for row in rollouts)
    _write("unanswered.jsonl", *unanswered)
    alone = ({**row, "prompt": f"Question {n}?"} for n, row in enumerate(rollouts[:4]))
    _write("alone.jsonl", *alone)
    _write("scattered.jsonl", *rollouts[::2], *rollouts[1::2])
    _write("flood.jsonl", *({"prompt": "Q", "response": f"{n}", "score": n} for n in range(4500)))
    _write("reference.jsonl", {"asked": "Question 1?"})
    _write("ready.jsonl", {"history": "Q", "human_ref_A": "A", "human_ref_B": "B", "labels": 1})
    _write("empty/train.jsonl", *pairs)
    _write("empty/val.jsonl", {**pairs[0], "prompt": ""})
    assert shell("prefpairs export -q --to trl pairs.jsonl -o dataset.jsonl").returncode == 0
    for name in ("tokens", "sdpo"):
        shutil.copytree(CASES / "export" / f"{name}_wrong_words", name)
    shutil.copy(CASES / "pair" / "nat_step_name" / "in.jsonl", "nat.jsonl")
    shutil.copy(CASES / "export" / "lossy_refuse" / "in.jsonl", "thinking.jsonl")
    _write(
        "traces.jsonl",
        *(
            {
                "trace_id": f"t{n}",
                "turns": [
                    {"role": "user", "content": "Q"},
                    {"role": "assistant", "content": f"A{n}"},
                ],
                "final_reward": n,
            }
            for n in range(2)
        ),
    )
    Path("recipe.toml").write_text('[read]\ninputs = "rollouts.jsonl"\n[pair]\n')
    write_dataset(Path("data"))
    write_dataset(Path("data-rl"), "customizer-rl")
    Path("job.toml").write_text(
        f'entity_host = "{service.url}"\ndatastore_host = "{service.url}"\nnamespace = "games"\n'
        f'customization_config = "{MODEL}"\npoll_interval_seconds = 0.01\n'
    )
    Path("two.toml").write_text('[read]\ninputs = "two.jsonl"\n[pair]\n')
    return tmp_path


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """A line as a shell runs it."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        env=in_shells(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("run", RUNS, ids=[run.typed for run in RUNS])
def test_the_hint_works(run: Run, service: Double) -> None:
    """The command first fails with that hint; following the hint works."""
    for name, value in run.service.items():
        setattr(service, name, value)
    failed = shell(run.typed)
    service.deployment_script = ["ready"]
    hints = re.findall(r"^(?:hint|  or): (.*)$", failed.stderr, re.MULTILINE)
    assert failed.returncode
    assert os.path.expandvars(run.hint) in hints, failed.stderr
    line = run.hint if run.then is None else run.then.format(run.typed)
    if run.then is None and (quoted := re.search(r"`(prefpairs .*?)`", run.hint)):
        line = quoted[1]
    done = shell(line)
    assert done.returncode == run.code, done.stderr


class _Strings(ast.NodeVisitor):
    """The texts of a module that are hints, as patterns of the printed text."""

    def __init__(self, page: Path) -> None:
        self.found: list[str] = []
        self._tree = ast.parse(page.read_text("utf-8"))
        self._assigned: dict[str, list[ast.expr]] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        self._assigned.setdefault(target.id, []).append(node.value)
        self.visit(self._tree)
        names = (
            {"hint", "elsewhere", *TABLES}
            if str(page.relative_to(SOURCES)) in WORDING
            else set(TABLES)
        )
        # sorted, so that each worker collects them alike
        for name in sorted(names & self._assigned.keys()):
            self._take(ast.Name(name))

    def visit_Call(self, node: ast.Call) -> None:
        """The hint of an error."""
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in HINT_AT:
            given = [
                keyword.value for keyword in node.keywords if keyword.arg in ("hint", "otherwise")
            ]
            for hint in (*node.args[HINT_AT[name] : HINT_AT[name] + 1], *given):
                self._take(hint)
        self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """The hints that a function of such a module returns."""
        if "hint" in node.name:
            for inner in ast.walk(node):
                if isinstance(inner, ast.Return) and inner.value is not None:
                    self._take(inner.value)
        self.generic_visit(node)

    def _take(self, given: ast.expr, depth: int = 0) -> None:
        if isinstance(given, ast.JoinedStr):
            parts = [
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*"
                for part in given.values
            ]
            self.found.append("".join(parts))
        elif isinstance(given, ast.Constant) and isinstance(given.value, str):
            self.found.append(re.sub(r"\\{\w*\\}", ".*", re.escape(given.value)))
        elif isinstance(given, ast.Name) and depth < 2:
            for value in self._assigned.get(given.id, []):
                self._take(value, depth + 1)
        elif isinstance(given, (ast.Call, ast.Subscript)):
            return
        else:
            for child in ast.iter_child_nodes(given):
                if isinstance(child, ast.expr):
                    self._take(child, depth)


def hints_with_commands() -> Iterator[tuple[str, str]]:
    """The module and pattern of each hint that names a command or an option to type."""
    for page in sorted(SOURCES.rglob("*.py")):
        for pattern in dict.fromkeys(_Strings(page).found):
            plain = re.sub(r"\\(.)", r"\1", pattern)
            if COMMAND.search(plain) or OPTION.search(plain):
                yield str(page.relative_to(SOURCES)), pattern


@pytest.mark.parametrize(("page", "pattern"), [*hints_with_commands()])
def test_every_hint_with_a_command_is_run(page: str, pattern: str) -> None:
    """Every hint with a command is reached by a run above."""
    reached = [run.hint for run in RUNS] + [*NOT_RUN]
    assert any(re.search(pattern, hint) for hint in reached), f"{page}: no run reaches {pattern}"
