"""Creates the virtual environment of a consumer program once, and returns its python."""

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

# Programs with compatible requirements share an environment.
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
    "trinity_experience": "trinity",
    "nat_models": "nat",
    "nat_customizer": "nat-customizer",
}


def python_of(name: str) -> str:
    """The python of a consumer's or an environment's venv, which is created if it is missing.

    The environments `datasets-4.4.0` and `datasets-4.8.5` also run hf_datasets and nemo_rl_model.

    The folder is named after the contents of the requirement files, so a changed pin creates a
    new venv. It gets that name only once everything is installed.
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
            fcntl.flock(lock, fcntl.LOCK_EX)  # only one of several test workers creates it
            if not ready.is_dir():
                make(ready, folder / f".{environment}.half", steps)
    return str(ready / "bin" / "python")


def requirement_files(environment: str) -> list[tuple[Path, list[str]]]:
    """The requirement files in the order of installation, with pip's options."""
    steps = [
        (REQUIREMENTS / f"{environment}.txt", []),
        (REQUIREMENTS / f"{environment}.nodeps.txt", ["--no-deps"]),
    ]
    return [(file, options) for file, options in steps if file.is_file()]


def make(ready: Path, half_made: Path, steps: list[tuple[Path, list[str]]]) -> None:
    """Creates a venv, installs each file into it and renames it; pip writes to stderr."""
    shutil.rmtree(half_made, ignore_errors=True)  # left over from an interrupted run
    subprocess.run([sys.executable, "-m", "venv", str(half_made)], check=True, stdout=sys.stderr)
    python = str(half_made / "bin" / "python")
    for file, options in steps:
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*command, *options, "-r", str(file)], check=True, stdout=sys.stderr)
    half_made.rename(ready)


if __name__ == "__main__":
    for each in sys.argv[1:] or sorted(set(ENVIRONMENTS.values())):
        sys.stdout.write(f"{each}\t{python_of(each)}\n")
