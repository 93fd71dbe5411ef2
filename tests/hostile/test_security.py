"""What the program never does on any input: use the network, a shell, or code from data."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel

_WATCHED = """
import os, sys
ALLOWED = os.path.realpath(sys.argv.pop(1))
NEVER = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "pickle.",
         "urllib.", "http.", "ftplib.", "smtplib.", "webbrowser.", "shutil.unpack_archive")
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.remove", "os.rename", "os.rmdir", "os.mkdir", "os.chmod", "os.truncate", "os.link",
           "os.symlink", "os.utime", "os.chown")

def inside(path):
    if isinstance(path, int):
        return True
    path = os.path.realpath(os.fsdecode(path))
    return path.startswith((ALLOWED + os.sep, "/dev/")) or path == ALLOWED

def watch(event, arguments):
    if event.startswith(NEVER):
        os.write(2, f"FORBIDDEN {event} {arguments!r}\\n".encode())
        os._exit(99)
    if event == "open" and isinstance(arguments[2], int) and arguments[2] & WRITES:
        if arguments[0] is not None and not inside(arguments[0]):
            os.write(2, f"FORBIDDEN writing {arguments!r}\\n".encode())
            os._exit(99)
        if os.path.basename(str(arguments[0])).startswith("in."):
            os.write(2, f"FORBIDDEN writing to an input {arguments!r}\\n".encode())
            os._exit(99)
    paths = [path for path in arguments[:2] if isinstance(path, (str, bytes))]
    if event in CHANGES and not all(map(inside, paths)):
        os.write(2, f"FORBIDDEN {event} {arguments!r}\\n".encode())
        os._exit(99)

sys.addaudithook(watch)
"""
_PROGRAM = """
from prefpairs.cli.main import main
sys.exit(main(sys.argv[1:]))
"""

_LOADERS = re.compile(r"^\s*(import|from) +(pickle|pickletools|marshal|shelve)\b", re.MULTILINE)
CASES = Path(__file__).parents[1] / "cases"

SECRETS = {"HF_TOKEN": "hf_secret_3141", "OPENAI_API_KEY": "sk-secret-2718", "USER": "alice1618"}

_ROLLOUTS = [
    {"prompt": f"Q{n // 4}", "response": f"A{n}", "score": n % 4 / 4, "x": "$(touch /tmp/owned)"}
    for n in range(40)
]
_PAIRS = [
    {"prompt": f"Is it {n}?", "chosen": f"Certainly, {n}.", "rejected": "Never!", "gap": 1.0}
    for n in range(40)
]
_RECIPE = """
[read]
inputs = ["in.rollouts.jsonl", "in.rollouts.jsonl.gz"]
[pair]
min_gap = 0.2
[dedupe]
[split]
val_fraction = 0.5
[write]
out_dir = "out"
manifest = "manifest.json"
summary = "summary.json"
"""

COMMANDS = [
    "extract in.rollouts.jsonl -o out.jsonl",
    "pair in.rollouts.jsonl --workers 2 -o out.jsonl.gz",
    "pair in.rollouts.jsonl.gz --temp-dir . --summary s.json -o out.jsonl.zst",
    "pair in.rollouts.jsonl --to trl --out-dir out",
    "pair in.frames.trxp -o out.jsonl",
    "dedupe in.pairs.jsonl --near 0.9 -o out.jsonl",
    "filter in.pairs.jsonl --max-length-ratio 9 -o out.jsonl",
    "sample in.pairs.jsonl --fraction 0.5 -o out.jsonl",
    "split in.pairs.jsonl --val-fraction 0.2 --out-dir out",
    "export in.pairs.jsonl --to axolotl --out-dir out",
    "export in.pairs.jsonl --to trl -o out.parquet",
    "validate in.pairs.jsonl --to trl",
    "run in.recipe.toml",
    "report in.rollouts.jsonl.gz --temp-dir . -o out.html",
    "show in.pairs.jsonl",
    "show --group prompt:21e8 --limit 1 in.rollouts.jsonl",
    "diff in.pairs.jsonl in.pairs.jsonl",
    "formats",
    "explain no_score",
    "--version",
    "--help",
]


@pytest.fixture(name="folder")
def _folder(tmp_path: Path) -> Path:
    """A folder with inputs."""
    lines = "".join(f"{json.dumps(row)}\n" for row in _ROLLOUTS)
    (tmp_path / "in.rollouts.jsonl").write_text(lines)
    subprocess.run(["gzip", "-k", "in.rollouts.jsonl"], cwd=tmp_path, check=True)
    (tmp_path / "in.pairs.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in _PAIRS))
    (tmp_path / "in.frames.trxp").write_bytes((CASES / "pair/trinity_frames/in.trxp").read_bytes())
    (tmp_path / "in.recipe.toml").write_text(_RECIPE)
    return tmp_path


def watched(folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command that exits 99 if it does any of these."""
    return subprocess.run(
        [sys.executable, "-B", "-c", _WATCHED + _PROGRAM, str(folder), *command.split()],
        cwd=folder,
        env={**os.environ, **SECRETS, "TMPDIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_no_network_no_shell_no_pickle_and_no_other_file(command: str, folder: Path) -> None:
    """A command only reads its inputs and writes its outputs."""
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    done = watched(folder, command)
    assert (done.returncode, "FORBIDDEN" in done.stderr) == (0, False), done.stderr
    for name, content in before.items():
        assert (folder / name).read_bytes() == content


@pytest.mark.parametrize(
    "code",
    [
        "import socket; socket.create_connection(('127.0.0.1', 9))",
        "import subprocess; subprocess.run(['true'])",
        "import os; os.system('true')",
        "import pickle; pickle.loads(pickle.dumps(print))",
        "open('in.pairs.jsonl', 'a')",
        "open('../elsewhere', 'w')",
        "import os; os.rename('in.pairs.jsonl', '../elsewhere')",
    ],
)
def test_the_monitor_detects_forbidden_actions(code: str, folder: Path) -> None:
    """The monitor detects each forbidden action."""
    done = subprocess.run(
        [sys.executable, "-c", _WATCHED + code, str(folder)],
        cwd=folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 99, done.stderr


def test_nothing_of_our_surroundings_is_written(folder: Path) -> None:
    """Outputs contain no secret, user name, host name or absolute path of this machine."""
    (folder / "in.jinja").write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    export = f'[export]\nto = "trl"\ntemplate = "{folder}/in.jinja"\n[write]\n'
    (folder / "in.other.toml").write_text(_RECIPE.replace("[write]\n", export))
    assert watched(folder, "run in.recipe.toml").returncode == 0
    other = "run in.other.toml --set write.out_dir=e --set write.manifest=e.json"
    assert watched(folder, other).returncode == 0
    assert watched(folder, "export in.pairs.jsonl --to llamafactory --out-dir d").returncode == 0
    written = [path for path in folder.rglob("*") if path.is_file() and path.name[:3] != "in."]
    told = b"".join(path.read_bytes() for path in written)
    assert len(written) >= 6
    for word in (*SECRETS.values(), str(folder), os.path.expanduser("~"), os.uname().nodename):
        assert word.encode() not in told, word


def test_a_template_cannot_leave_its_sandbox(folder: Path) -> None:
    """A chat template, a foreign program, cannot leave its sandbox."""
    words = "export in.pairs.jsonl --to openrlhf --template t.jinja"
    (folder / "t.jinja").write_text("{% for m in messages %}{{ m.content }}\n{% endfor %}")
    assert watched(folder, words).returncode == 0
    for code in (
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ cycler.__init__.__globals__.os.system('true') }}",
        "{{ messages.append.__self__.__class__ }}",
        "{% include '/etc/passwd' %}",
        "{{ messages.clear() }}",
    ):
        (folder / "t.jinja").write_text(code)
        done = watched(folder, words)
        assert (done.returncode, done.stdout) in ((1, ""), (2, "")), (code, done.stdout)
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        "export in.pairs.jsonl --to trl --template t.jinja -o t.jinja",
        "export in.pairs.jsonl --to trl --template t.jinja --out-dir d --summary t.jinja",
        "pair in.rollouts.jsonl.gz --to trl --template t.jinja -o t.jinja",
    ],
)
def test_a_template_is_not_written_over(words: str, folder: Path) -> None:
    """A template is an input, so it is not overwritten."""
    template = folder / "t.jinja"
    template.write_text("{% for m in messages %}{{ m.content }}{% endfor %}")
    before = template.read_bytes()
    done = watched(folder, words)
    assert (done.returncode, template.read_bytes()) == (2, before), done.stderr
    assert done.stderr.startswith("error: t.jinja is both input and output\n")


def test_a_tokenizer_is_not_written_over(folder: Path) -> None:
    """The tokenizer of `filter` and `validate` is not overwritten, either."""
    tokenizer = Tokenizer(WordLevel({"a": 0}, unk_token="a"))  # noqa: S106 - no password
    tokenizer.save(str(folder / "t.json"))
    before = (folder / "t.json").read_bytes()
    for words in (
        "validate in.pairs.jsonl --to trl --max-tokens 9 --tokenizer t.json --summary t.json",
        "filter in.pairs.jsonl --max-tokens 9 --tokenizer t.json --summary t.json -o o.jsonl",
    ):
        done = watched(folder, words)
        assert (done.returncode, (folder / "t.json").read_bytes()) == (2, before), done.stderr


@pytest.mark.parametrize("name", ["code.trxp", "memo.trxp", "old.pkl"])
def test_a_frame_is_no_program(name: str, folder: Path) -> None:
    """Code that a frame's pickle would run is not even looked up."""
    given = folder / f"in.{name}"
    given.write_bytes((CASES / "pair/trinity_hostile" / name).read_bytes())
    done = watched(folder, f"pair {given.name}")
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert "in." in done.stderr
    assert "byte" in done.stderr
    assert "code was run" not in done.stderr


def test_no_module_of_ours_loads_pickles() -> None:
    """No module of ours can load pickles."""
    for path in (Path(__file__).parents[2] / "src").rglob("*.py"):
        assert not _LOADERS.search(path.read_text("utf-8")), path


def test_a_recipe_is_no_script(folder: Path) -> None:
    """Nothing in a recipe is expanded or run."""
    recipe = folder / "in.recipe.toml"
    for name in ("$(touch owned).jsonl", "${HOME}/x.jsonl", "~/x.jsonl", "`id`.jsonl", "| id"):
        recipe.write_text(_RECIPE.replace("in.rollouts.jsonl.gz", name))
        done = watched(folder, "run in.recipe.toml")
        assert (done.returncode, "no such file" in done.stderr) == (5, True)
    words = '[read]\ninputs = ["in.pairs.jsonl"]\n[dedupe]\n[write]\noutput = "in.pairs.jsonl"\n'
    recipe.write_text(words)
    assert watched(folder, "run in.recipe.toml").returncode == 2
