"""`make demo` and `make test` build the native core if they can, and continue if they cannot."""

import os
import re
import shutil
import socket
import subprocess
import sys
import time
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import prefpairs

ROOT = Path(__file__).parents[3]
LINE = "the native core is not built: {}; prefpairs works without it\n"
NO_CARGO = "there is no cargo here"
NO_CRATES = "cargo cannot fetch its crates"
SECONDS = 5.0
"""With three more attempts, cargo takes eleven seconds."""

pytestmark = pytest.mark.full
needs_cargo = pytest.mark.skipif(shutil.which("cargo") is None, reason="cargo is not here")


class Checkout:
    """A copy of the core's sources, and a virtual environment to install it into."""

    def __init__(self, folder: Path, *, pip: bool) -> None:
        self.native = folder / "native"
        shutil.copytree(ROOT / "native", self.native, ignore=shutil.ignore_patterns("target"))
        (folder / "scripts").mkdir()
        self._script = folder / "scripts" / "build_native.py"
        shutil.copy(ROOT / "scripts" / "build_native.py", self._script)
        venv.create(folder / "venv", with_pip=pip)
        self._python = folder / "venv" / "bin" / "python"

    def build(self, **variables: str) -> tuple[int, str]:
        """Run the build; returns the exit code and the output."""
        ran = subprocess.run(
            [self._python, self._script],
            env={**_without_choice(), **variables},
            check=False,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return ran.returncode, ran.stdout

    def core(self) -> str:
        """The installed core, if any."""
        words = ["-c", "import prefpairs_native; print(prefpairs_native.SAYS)"]
        ran = subprocess.run([self._python, *words], check=False, capture_output=True, text=True)
        return ran.stdout.strip()

    def keep_wheel(self, says: str) -> None:
        """Create a wheel for the current sources."""
        find = "import build_native; print(build_native.digest_of_sources())"
        scripts = self._script.parent
        ran = subprocess.run(
            [sys.executable, "-c", find], cwd=scripts, check=True, capture_output=True, text=True
        )
        folder = self.native / "target" / "wheels" / ran.stdout.strip()
        folder.mkdir(parents=True)
        info = "prefpairs_native-0.2.0.dist-info"
        files = {
            "prefpairs_native.py": f"SAYS = {says!r}\n",
            f"{info}/METADATA": "Metadata-Version: 2.1\nName: prefpairs-native\nVersion: 0.2.0\n",
            f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
        with zipfile.ZipFile(folder / "prefpairs_native-0.2.0-py3-none-any.whl", "w") as wheel:
            for name, text in {**files, f"{info}/RECORD": record}.items():
                wheel.writestr(name, text)

    def change(self) -> None:
        """Change the sources."""
        with (self.native / "core" / "src" / "lib.rs").open("a", encoding="utf-8") as file:
            file.write("// changed\n")


def _without_choice() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PREFPAIRS_NATIVE"}


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    """A checkout without a built core."""
    return Checkout(tmp_path, pip=False)


@pytest.fixture
def built(tmp_path: Path) -> Checkout:
    """A checkout with the core installed."""
    checkout = Checkout(tmp_path, pip=True)
    checkout.keep_wheel("first")
    assert checkout.build(PATH="") == (0, "")
    assert checkout.core() == "first"
    return checkout


@pytest.fixture(name="nowhere")
def _nowhere(tmp_path: Path) -> str:
    """A PATH without programs."""
    return str(tmp_path / "nowhere")


def test_the_core_has_the_version_of_the_program() -> None:
    """The core has the version of the program, since it only works with that."""
    workspace = tomllib.loads((ROOT / "native" / "Cargo.toml").read_text("utf-8"))["workspace"]
    assert workspace["package"]["version"] == prefpairs.__version__


def test_nothing_is_installed_by_a_name_that_is_not_ours() -> None:
    """The core is always installed by path, never by name from an index."""
    by_name = re.compile(r"(pip|uv|pipx)\b.* install .*prefpairs[-_]native")
    pages = [ROOT / "Makefile", *ROOT.glob("*.md"), *(ROOT / ".github").rglob("*.yml")]
    for folder in ("docs", "scripts", "src"):
        pages += [path for path in (ROOT / folder).rglob("*") if path.suffix in (".md", ".py", "")]
    found = [path for path in pages if path.is_file() and by_name.search(path.read_text("utf-8"))]
    assert found == []


def test_without_cargo(checkout: Checkout, nowhere: str) -> None:
    """Without cargo, one line says so; it is an error only if the core is required."""
    assert checkout.build(PATH=nowhere) == (0, LINE.format(NO_CARGO))
    code, said = checkout.build(PATH=nowhere, PREFPAIRS_NATIVE="require")
    assert (code, said) == (1, f"the native core is not built: {NO_CARGO}\n")
    assert checkout.build(PATH=nowhere, PREFPAIRS_NATIVE="0") == (0, "")


@needs_cargo
def test_offline_with_nothing_fetched(checkout: Checkout, tmp_path: Path) -> None:
    """Offline without downloaded crates, one line says so."""
    home = {"CARGO_HOME": str(tmp_path / "cargo"), "RUSTUP_HOME": _rustup_home()}
    assert checkout.build(CARGO_NET_OFFLINE="true", **home) == (0, LINE.format(NO_CRATES))


@needs_cargo
def test_a_registry_that_cannot_be_reached_costs_seconds(
    checkout: Checkout, tmp_path: Path
) -> None:
    """Cargo does not retry many times."""
    home = tmp_path / "cargo"
    home.mkdir()
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    (home / "config.toml").write_text(
        '[source.crates-io]\nreplace-with = "closed"\n'
        f'[source.closed]\nregistry = "sparse+http://127.0.0.1:{port}/"\n',
        "utf-8",
    )
    begin = time.monotonic()
    found = checkout.build(CARGO_HOME=str(home), RUSTUP_HOME=_rustup_home())
    assert found == (0, LINE.format(NO_CRATES))
    assert time.monotonic() - begin < SECONDS


def _rustup_home() -> str:
    """The toolchain's folder when CARGO_HOME is changed."""
    return os.environ.get("RUSTUP_HOME") or str(Path("~/.rustup").expanduser())


def test_a_core_is_built_once_for_its_sources(built: Checkout, nowhere: str) -> None:
    """Changed sources need another core; if it cannot be built, the old one is removed."""
    shutil.rmtree(built.native / "target")
    assert built.build(PATH=nowhere) == (0, "")
    built.change()
    assert built.build(PATH=nowhere, PREFPAIRS_NATIVE="0") == (0, "")
    assert built.core() == "first"
    assert built.build(PATH=nowhere) == (0, LINE.format(NO_CARGO))
    assert built.core() == ""
    built.keep_wheel("second")
    assert built.build(PATH=nowhere) == (0, "")
    assert built.core() == "second"


def test_a_failed_build_leaves_no_core(built: Checkout, tmp_path: Path) -> None:
    """The compiler's output is shown, and the run continues without the core."""
    built.change()
    programs = tmp_path / "programs"
    maturin = built.native / "target" / "maturin" / "bin" / "maturin"
    for program, code in ((programs / "cargo", 0), (maturin, 1)):
        program.parent.mkdir(parents=True)
        program.write_text(f"#!/bin/sh\necho expected one of these\nexit {code}\n", "utf-8")
        program.chmod(0o755)
    code, said = built.build(PATH=f"{programs}:/usr/bin:/bin")
    assert (code, built.core()) == (0, "")
    building, told, line = said.splitlines(keepends=True)
    assert building == "building the native core, which takes about a minute\n"
    assert (told, line) == ("expected one of these\n", LINE.format("the compiler failed"))
    assert [*(built.native / "target" / "wheels").glob("*-*")] == []
