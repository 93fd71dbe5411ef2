"""Build the native core, and install it into the environment of this Python.

The wheel is built once for each state of `native/` and kept in `native/target`, for all virtual
environments. If it cannot be built, one line says why: prefpairs works without it. With
PREFPAIRS_NATIVE=require that is an error, and with PREFPAIRS_NATIVE=0 nothing is done.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

NATIVE = Path(__file__).parent.parent / "native"
TARGET = NATIVE / "target"
IMPATIENT = {
    "CARGO_NET_RETRY": "0",
    "CARGO_HTTP_TIMEOUT": "10",
    "PIP_RETRIES": "0",
    "PIP_DEFAULT_TIMEOUT": "10",
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
"""So that an unreachable registry costs only seconds."""


class CannotBuild(Exception):
    """The wheel could not be built, for this reason."""


def main() -> int:
    """Install the core, or put its wheel into a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--wheel", type=Path, metavar="FOLDER", help="only put the wheel there")
    folder = parser.parse_args().wheel
    wanted = os.environ.get("PREFPAIRS_NATIVE") or "1"
    if wanted == "0":
        return 0
    sources = digest_of_sources()
    stamp = Path(sys.prefix, ".native")
    if folder is None and stamp.exists() and stamp.read_text("ascii") == sources:
        return 0
    try:
        wheel = _wheel(sources)
    except CannotBuild as reason:
        if folder is None:
            _remove(stamp)
        print(f"the native core is not built: {reason}", end="", file=sys.stderr)
        needed = folder is not None or wanted == "require"
        print("" if needed else "; prefpairs works without it", file=sys.stderr)
        return int(needed)
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(wheel, folder)
        return 0
    stamp.unlink(missing_ok=True)
    _pip("install", "--no-deps", "--force-reinstall", str(wheel))
    stamp.write_text(sources, "ascii")
    return 0


def digest_of_sources() -> str:
    """Identifies the state of `native/` by bytes, names and files."""
    digest = hashlib.sha256()
    for path in sorted(NATIVE.rglob("*")):
        if TARGET not in path.parents and path.is_file():
            data = path.read_bytes()
            digest.update(f"{path.relative_to(NATIVE)} {len(data)}\n".encode() + data)
    return digest.hexdigest()[:16]


def _wheel(sources: str) -> Path:
    """The wheel for these sources, built if it is missing."""
    kept = TARGET / "wheels" / sources
    if not kept.exists():
        _fetch_crates()
        maturin = _maturin()
        print("building the native core, which takes about a minute", file=sys.stderr)
        fresh = TARGET / "wheels" / f"{sources}-{os.getpid()}"
        manifest = str(NATIVE / "python" / "Cargo.toml")
        words = ["build", "--release", "--locked", "--manifest-path", manifest]
        words += ["--compatibility", "linux", "--interpreter", sys.executable, "--out", str(fresh)]
        built = _run(str(maturin), *words, CARGO_NET_OFFLINE="true")
        if built.returncode:
            print(built.stdout, file=sys.stderr, end="")
            raise CannotBuild("the compiler failed")
        shutil.rmtree(kept, ignore_errors=True)
        fresh.rename(kept)
    (wheel,) = kept.glob("*.whl")
    return wheel


def _fetch_crates() -> None:
    if shutil.which("cargo") is None:
        raise CannotBuild("there is no cargo here")
    manifest = str(NATIVE / "Cargo.toml")
    if _run("cargo", "fetch", "--locked", "--manifest-path", manifest).returncode:
        raise CannotBuild("cargo cannot fetch its crates")


def _maturin() -> Path:
    """The program that makes wheels from Rust, installed with pip."""
    program = TARGET / "maturin" / "bin" / "maturin"
    if not program.exists():
        project = tomllib.loads((NATIVE / "python" / "pyproject.toml").read_text("utf-8"))
        (wanted,) = project["build-system"]["requires"]
        words = ["--only-binary", ":all:", "--target", str(program.parent.parent), "--upgrade"]
        words = [sys.executable, "-m", "pip", "install", "--quiet", *words, wanted]
        if _run(*words).returncode:
            raise CannotBuild("pip cannot fetch maturin")
    return program


def _remove(stamp: Path) -> None:
    """Remove a core that was built from other sources."""
    stamp.unlink(missing_ok=True)
    if find_spec("prefpairs_native"):
        _pip("uninstall", "--yes", "prefpairs-native")


def _pip(*words: str) -> None:
    done = _run(sys.executable, "-m", "pip", words[0], "--quiet", *words[1:])
    if done.returncode:
        sys.exit(done.stdout)


def _run(*command: str, **variables: str) -> "subprocess.CompletedProcess[str]":
    surroundings = os.environ | IMPATIENT | variables
    return subprocess.run(
        command,
        env=surroundings,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    sys.exit(main())
