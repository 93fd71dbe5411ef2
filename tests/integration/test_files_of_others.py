"""--out-dir does not replace files that prefpairs never wrote, unless --force is given."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from forked_prefpairs import Done, run_text
from prefpairs.targets import TARGETS, target_named

ROWS = [
    {
        "prompt": f"Q{n}",
        "chosen": f"yes {n}",
        "rejected": f"no {n}",
        "chosen_score": 1,
        "rejected_score": 0,
    }
    for n in range(12)
]
SPLIT = "split --exact --test-fraction 0.3 pairs.jsonl --out-dir d"
RECIPE = """[read]
inputs = ["pairs.jsonl"]
[split]
exact = true
[write]
out_dir = "d"
"""


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
    Path("recipe.toml").write_text(RECIPE)


def _run(words: str) -> Done:
    return run_text(*words.split(), "--quiet")


def _content() -> Mapping[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path("d").rglob("*")) if path.is_file()}


OWN_JOB = '{"training_file": "file-1", "model": "gpt", "method": {"type": "dpo"}}\n'

HAND_MADE = [
    (SPLIT, "test.jsonl", '{"prompt": "mine", "chosen": "a", "rejected": "b"}\n'),
    (SPLIT.replace("--test-fraction 0.3 ", ""), "test.jsonl", '{"question": "mine"}\n'),
    (SPLIT, "train.jsonl", "notes\n"),
    (SPLIT, "val.jsonl", "[1, 2]\n"),
    ("export --to trl pairs.jsonl --out-dir d", "README.md", "# My data\n"),
    ("export --to trl pairs.jsonl --out-dir d", "test.jsonl", '{"prompt": "mine"}\n'),
    ("export --to trl pairs.jsonl --out-dir d", "dpo.sh", "#!/bin/sh\necho mine\n"),
    ("pair rows.jsonl --to trl --out-dir d", "README.md", "# My data\n"),
    ("export --to llamafactory pairs.jsonl --out-dir d", "dataset_info.json", '{"mine": {}}\n'),
    ("export --to openai pairs.jsonl --out-dir d", "job.json", '{"seed": 1}\n'),
    ("export --to openai pairs.jsonl --out-dir d", "job.json", OWN_JOB),
    ("export --to customizer pairs.jsonl --out-dir d", "job.json", '{"config": "mine"}\n'),
    ("export --to llamafactory pairs.jsonl --out-dir d", "dataset_info.json", "{}\n"),
    ("export --to axolotl pairs.jsonl --out-dir d", "dpo.yaml", "base_model: mine\n"),
    ("run recipe.toml", "test.jsonl", '{"question": "mine"}\n'),
    ("run recipe.toml", "manifest.json", '{"name": "my app"}\n'),
]


@pytest.mark.parametrize(("words", "name", "content"), HAND_MADE)
def test_a_file_of_others_stays(words: str, name: str, content: str) -> None:
    """Exits 2 with the file's name and changes nothing; --force, as hinted, replaces it."""
    rows = [{"prompt": "Q", "response": f"{n}", "score": n} for n in range(3)]
    Path("rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    Path("d").mkdir()
    Path("d", name).write_text(content)
    Path("d", "notes.txt").write_text("never in the way\n")
    before = _content()
    done = _run(words)
    assert (done.returncode, _content()) == (2, before), done.stderr
    assert f"d/{name}" in done.stderr
    assert "--force" in done.stderr
    assert _run(f"{words} --force").returncode == 0
    assert Path("d", "notes.txt").exists()
    assert not Path("d", name).exists() or Path("d", name).read_text() != content


ONE_FILE = {"tokens", "trinity-experience"}


@pytest.mark.parametrize("name", [name for name in TARGETS if name not in ONE_FILE])
def test_a_dataset_of_ours_is_replaced(name: str) -> None:
    """The next run of the same command may replace it, whatever its target, options and splits."""
    Path("val.jsonl").write_text(Path("pairs.jsonl").read_text().replace("Q", "Question "))
    assert _run(f"export --to {name} pairs.jsonl val.jsonl --out-dir d").returncode == 0
    done = _run(f"export --to {name} pairs.jsonl --limit 5 --out-dir d")
    assert (done.returncode, done.stderr) == (0, "")


CHAT = [{"role": "user", "content": "mine"}]
OWN_ROW = {
    "ultrafeedback": {"prompt": "mine", "chosen": CHAT, "rejected": CHAT},
    "openai": {"input": {"messages": CHAT}, "preferred_output": [], "non_preferred_output": []},
    "customizer": {"prompt": "mine", "chosen_response": "a", "rejected_response": "b"},
    "trl-kto": {"prompt": "mine", "completion": "a", "label": True},
    "trl": {"prompt": CHAT, "chosen": CHAT, "rejected": CHAT, "pair_id": "mine"},
}


@pytest.mark.parametrize("beside_ours", [False, True])
@pytest.mark.parametrize("name", OWN_ROW)
def test_rows_in_the_format_of_the_target(name: str, beside_ours: bool) -> None:
    """Rows in the target's format, or a card or job not naming the file, do not make it ours."""
    words = f"export --to {name} pairs.jsonl --out-dir d"
    files = target_named(name).files
    if beside_ours:
        assert _run(words).returncode == 0
    side = "train" if name == "customizer" else "test"
    path = Path("d", files[side])
    path.parent.mkdir(parents=True, exist_ok=True)
    if name == "customizer" and beside_ours:
        Path("d/job.json").write_text('{"config": "mine"}')
    path.write_text(json.dumps(OWN_ROW[name]) + "\n")
    before = _content()
    done = _run(words)
    assert (done.returncode, _content()) == (2, before), done.stderr
    assert str(path) in done.stderr
    assert _run(f"{words} --force").returncode == 0


def test_a_folder_of_pairs_with_ids_of_others() -> None:
    """Columns named like ours, but with IDs that we never gave, are not ours."""
    Path("d").mkdir()
    row = {"id": "7", "group": "g", "prompt": "Q", "chosen": "a", "rejected": "b"}
    Path("d/test.jsonl").write_text(json.dumps(row) + "\n")
    assert _run(SPLIT).returncode == 2


@pytest.mark.parametrize("words", [SPLIT, "run recipe.toml"])
def test_files_of_ours_are_replaced(words: str) -> None:
    """Ours may be replaced even without a receipt: edited, empty or restored by `dvc checkout`."""
    assert _run(words).returncode == 0
    first = _content()
    if Path("d/manifest.json").exists():
        Path("d/manifest.json").unlink()
    Path("d/val.jsonl").write_text("")
    with Path("d/train.jsonl").open("a") as file:
        file.write("an edit\n")
    done = _run(words)
    assert (done.returncode, done.stderr, _content()) == (0, "", first)


def test_a_file_that_a_manifest_lists() -> None:
    """A file that matches its entry in a manifest is ours, whatever its rows look like."""
    assert _run("run recipe.toml").returncode == 0
    manifest = json.loads(Path("d/manifest.json").read_bytes())
    Path("d/train.jsonl").write_text('{"of": "another version"}\n')
    assert _run("run recipe.toml").returncode == 2
    content = Path("d/train.jsonl").read_bytes()
    manifest["outputs"][0] |= {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    Path("d/manifest.json").write_text(json.dumps(manifest))
    assert _run("run recipe.toml").returncode == 0


@pytest.mark.parametrize("name", ["manifest.json", "test.jsonl"])
def test_a_file_that_comes_during_the_run(name: str) -> None:
    """Outputs are checked again before they are replaced; the input arrives only then."""
    Path("d").mkdir()
    os.mkfifo("pipe.jsonl")
    Path("recipe.toml").write_text(RECIPE.replace("pairs.jsonl", "pipe.jsonl"))
    words = [sys.executable, "-m", "prefpairs", "run", "-q", "recipe.toml"]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as running:
        with Path("pipe.jsonl").open("wb") as pipe:
            pipe.write(Path("pairs.jsonl").read_bytes())
            pipe.flush()
            time.sleep(1)  # it is reading, so it has checked the folder
            Path("d", name).write_text('{"name": "my app"}\n')
        assert running.stderr is not None
        assert b"d/" + name.encode() in running.stderr.read()
    assert running.returncode == 2
    assert [path.name for path in Path("d").iterdir()] == [name]


@pytest.mark.parametrize(
    ("slow", "fast", "code"),
    [
        ("export --to customizer", "export --to trl", 2),
        ("export --to trl", "export --to customizer", 2),
        ("export --to openrlhf", "export --to ultrafeedback", 2),
        ("export --to openrlhf", "export --to trl", 5),
        ("split", "export --to trl", 5),
        ("export --to trl", "export --to trl", 0),
        ("export --to trl", "split", 0),
    ],
)
@pytest.mark.parametrize("there", [True, False], ids=["an old folder", "a new folder"])
def test_two_kinds_of_data_at_once(slow: str, fast: str, code: int, there: bool) -> None:
    """If another run writes meanwhile, the result is the output of one of them, not a mixture."""
    if there:
        Path("d").mkdir()
    os.mkfifo("pipe.jsonl")
    words = [sys.executable, "-m", "prefpairs", *slow.split(), "pipe.jsonl", "--out-dir", "d", "-q"]
    with subprocess.Popen(words, stderr=subprocess.PIPE) as running:
        with Path("pipe.jsonl").open("wb") as pipe:
            pipe.write(Path("pairs.jsonl").read_bytes())
            pipe.flush()
            while not any(Path().rglob(".*.tmp")):  # it has checked the folder
                time.sleep(0.01)
            assert _run(f"{fast} pairs.jsonl --out-dir d").returncode == 0
            before = {name: data for name, data in _content().items() if ".tmp" not in name}
        assert running.stderr is not None
        said = running.stderr.read()
    assert (running.returncode, b"error: d" in said) == (code, code != 0), said
    if code:
        assert _content() == before
    else:
        assert _run(f"{slow} pairs.jsonl --out-dir alone").returncode == 0
        alone = {path.name: path.read_bytes() for path in Path("alone").iterdir()}
        assert {path.name: path.read_bytes() for path in Path("d").iterdir()} == alone


def test_force_in_a_recipe() -> None:
    """`force` in a recipe does the same as the option."""
    Path("d").mkdir()
    Path("d/test.jsonl").write_text("mine\n")
    Path("recipe.toml").write_text(RECIPE + "force = true\n")
    assert _run("run recipe.toml").returncode == 0
    assert not Path("d/test.jsonl").exists()


@pytest.mark.parametrize("kind", ["pipe", "link", "unreadable"])
def test_what_cannot_be_looked_at(kind: str) -> None:
    """A pipe does not block, a link is checked by its target, and an unreadable file exits 5."""
    Path("d").mkdir()
    Path("mine").write_text("mine\n")
    if kind == "pipe":
        os.mkfifo("d/test.jsonl")
    elif kind == "link":
        Path("d/test.jsonl").symlink_to("../mine")
    else:
        Path("d/test.jsonl").write_text("mine\n")
        Path("d/test.jsonl").chmod(0)
    assert _run(SPLIT).returncode == (5 if kind == "unreadable" and os.geteuid() else 2)
    assert os.path.lexists("d/test.jsonl")


def test_o_replaces_what_it_names() -> None:
    """-o replaces any file, as with cp and sort."""
    Path("out.jsonl").write_text("mine\n")
    assert _run("dedupe pairs.jsonl -o out.jsonl").returncode == 0
    assert len(Path("out.jsonl").read_text().splitlines()) == 12


LEFT = ".o.jsonl.prefpairs-abcdefgh.tmp"
LEFT_FOLDER = ".new.prefpairs-abcdefgh.tmp"

READ_ANYWAY = {
    "an input": f"filter --min-gap 0 {LEFT} -o o.jsonl",
    "standard input": f"filter --min-gap 0 -o o.jsonl < {LEFT}",
    "a reference": f"dedupe --against {LEFT} rows.jsonl -o o.jsonl --allow-empty",
    "a recipe": f"run {LEFT} --set write.output=o.jsonl --set read.inputs=rows.jsonl",
    "an input in a folder": f"split d/{LEFT_FOLDER}/old.jsonl --out-dir d",
    "a link": "filter --min-gap 0 link.jsonl -o o.jsonl",
}


@pytest.mark.parametrize("words", READ_ANYWAY.values(), ids=READ_ANYWAY.keys())
def test_inputs_are_not_removed(words: str) -> None:
    """Leftovers of a killed run that are inputs are not deleted."""
    text = "[filter]\nmin_gap = 0\n" if words.startswith("run") else Path("pairs.jsonl").read_text()
    left = [Path(LEFT), Path("d", LEFT_FOLDER, "old.jsonl")]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    Path(LEFT.replace("abcdefgh", "ijklmnop")).write_text("litter")
    Path("rows.jsonl").write_text(Path("pairs.jsonl").read_text())
    Path("link.jsonl").symlink_to(LEFT)
    program = f"'{sys.executable}' -m prefpairs {words} --quiet"
    done = subprocess.run(["sh", "-c", program], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    read = left[1] if words.startswith("split") else left[0]
    assert read.read_text() == text
    assert Path("d/train.jsonl" if words.startswith("split") else "o.jsonl").exists()
    assert Path(LEFT.replace("abcdefgh", "ijklmnop")).exists() == words.startswith("split")


def test_a_value_that_looks_like_an_option() -> None:
    """With `=`, it is a value; without, it is an option, and the value is missing."""
    assert _run("split pairs.jsonl --exact --out-dir --force").returncode == 2
    assert _run("split pairs.jsonl --exact --out_dir=--force").returncode == 0
    assert Path("--force/train.jsonl").exists()


@pytest.mark.parametrize("words", ["split --exact pairs.jsonl --out-dir new", "run recipe.toml"])
def test_bad_rows_in_a_folder_that_is_only_made(words: str) -> None:
    """Rejects --quarantine in a folder that the run would create; in an existing one it is fine."""
    words += " --on-error quarantine --quarantine new/bad.jsonl"
    if words.startswith("run"):
        bad = '[read]\non_error = "quarantine"\nquarantine = "new/bad.jsonl"'
        recipe = RECIPE.replace("[read]", bad).replace('"d"', '"new"')
        Path("recipe.toml").write_text(recipe)
        words = "run recipe.toml"
    done = _run(words)
    assert (done.returncode, Path("new").exists()) == (2, False)
    assert "--quarantine new/bad.jsonl: new appears only when the run ends well" in done.stderr
    Path("new").mkdir()
    with Path("pairs.jsonl").open("a") as file:
        file.write("{oops\n")
    assert _run(words).returncode == 0
    assert len(Path("new/bad.jsonl").read_text().splitlines()) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every folder")
def test_a_pattern_in_a_folder_that_may_not_be_read() -> None:
    """A pattern in an unreadable folder is an error, not an empty match."""
    Path("d").mkdir(mode=0o311)
    done = _run("split d/*.jsonl --out-dir new")
    assert (done.returncode, done.stderr) == (5, "error: d: Permission denied\n")
