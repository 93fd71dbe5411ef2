"""Makes the virtual environment that a consumer program runs in, once, and names its python."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
REQUIREMENTS = HERE / "requirements"
FOLDER_VARIABLE = "PREFPAIRS_CONSUMERS"
DEFAULT_FOLDER = HERE.parent.parent / ".consumers"

# Programs whose requirements agree share an environment.
ENVIRONMENTS = {
    "hf_datasets": "datasets-5.2.0",
    "nemo_rl_model": "datasets-5.2.0",
    "customizer_model": "datasets-5.2.0",
    "trl_kto": "trl",
    "trl_reward": "trl",
    "trl_collator": "trl",
    "trl_templates": "trl",
    "together_check": "together",
    "llamafactory": "llamafactory",
    "axolotl": "axolotl",
    "ms_swift": "axolotl",
    "openrlhf": "axolotl",
    "trinity_rft": "trinity",
    "nat_models": "nat",
    "nat_customizer": "nat-customizer",
}


def python_of(name: str) -> str:
    """The python of a consumer's or an environment's venv, which is made if it is missing.

    The environments `datasets-4.4.0` and `datasets-4.8.5` run hf_datasets and nemo_rl_model too.

    Its folder is named after the contents of the requirement files, so that a changed pin makes a
    new venv, and it gets that name only when all is installed.
    """
    environment = ENVIRONMENTS.get(name, name)
    steps = requirement_files(environment)
    if not steps:
        message = f"no requirements for {name!r}"
        raise LookupError(message)
    digest = hashlib.sha256(b"\0".join(file.read_bytes() for file, _ in steps)).hexdigest()
    folder = Path(os.environ.get(FOLDER_VARIABLE) or DEFAULT_FOLDER).resolve()
    ready = folder / f"{environment}-{digest[:12]}"
    if not ready.is_dir():
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / f".{environment}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # of several test workers one makes it
            if not ready.is_dir():
                make(ready, folder / f".{environment}.half", steps)
    return str(ready / "bin" / "python")


def requirement_files(environment: str) -> list[tuple[Path, list[str]]]:
    """The requirement files in the order in which they are installed, with pip's options."""
    steps = [
        (REQUIREMENTS / f"{environment}.txt", []),
        (REQUIREMENTS / f"{environment}.nodeps.txt", ["--no-deps"]),
    ]
    return [(file, options) for file, options in steps if file.is_file()]


def make(ready: Path, half_made: Path, steps: list[tuple[Path, list[str]]]) -> None:
    """Makes a venv, installs each file into it and gives it its name; pip writes to stderr."""
    shutil.rmtree(half_made, ignore_errors=True)  # what an interrupted run has left
    subprocess.run([sys.executable, "-m", "venv", str(half_made)], check=True, stdout=sys.stderr)
    python = str(half_made / "bin" / "python")
    for file, options in steps:
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, *options, "-r", str(file)], check=True, stdout=sys.stderr)
    half_made.rename(ready)


if __name__ == "__main__":
    for each in sys.argv[1:] or sorted(set(ENVIRONMENTS.values())):
        sys.stdout.write(f"{each}\t{python_of(each)}\n")
