"""The native core, instrumented so that the fuzzer sees which of its lines an input reaches."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

NATIVE = Path(__file__).parents[2] / "native"
BUILT = NATIVE / "target" / "fuzz"
_FLAGS = (
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Cdebug-assertions",
)


def surroundings() -> dict[str, str]:
    """The environment variables with which targets find the core; none if it cannot be built."""
    cargo, compiler = shutil.which("cargo"), shutil.which("rustc")
    if os.environ.get("PREFPAIRS_NATIVE") == "0" or cargo is None or compiler is None:
        return {}
    host = _host(compiler)
    words = ["--release", "--locked", "--target", host, "--target-dir", str(BUILT)]
    manifest = str(NATIVE / "python" / "Cargo.toml")
    surrounding = {"RUSTFLAGS": " ".join(_FLAGS), "PYO3_PYTHON": sys.executable}
    built = subprocess.run(
        [cargo, "build", "--quiet", "--manifest-path", manifest, *words],
        env={**os.environ, **surrounding},
        check=False,
    )
    if built.returncode:
        return {}
    library = BUILT / host / "release" / "libprefpairs_native.so"
    shutil.copy(library, BUILT / "prefpairs_native.abi3.so")
    fuzzer = find_spec("ubsan_with_fuzzer")  # of atheris: libFuzzer for extensions to call
    assert fuzzer
    assert fuzzer.origin
    return {
        "LD_PRELOAD": fuzzer.origin,
        "PYTHONPATH": str(BUILT),
        "PREFPAIRS_NATIVE": "require",
    }


def _host(compiler: str) -> str:
    """The target platform; naming it keeps the fuzzer's flags out of build scripts."""
    told = subprocess.run([compiler, "-vV"], check=True, capture_output=True, text=True).stdout
    return next(
        line.removeprefix("host: ") for line in told.splitlines() if line.startswith("host: ")
    )
