"""What all cases share: the data folder, the measured program, the number of rounds."""

import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path

from bench.data.plan import Plan
from bench.data.writing import write
from bench.race import Contender, race, remove
from bench.results import Cost

PEERS = Path(__file__).parent / "peers"
WARMING = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One run of the benchmark."""

    folder: Path
    scale: int
    rounds: int
    prefpairs: str
    nat_python: str = ""
    quiet: bool = False

    def tell(self, words: str) -> None:
        """Report progress on stderr."""
        if not self.quiet:
            print(f"  {words}", file=sys.stderr, flush=True)

    def at(self, scale: int) -> "Setting":
        """The same at another scale."""
        return replace(self, scale=scale)

    def file(self, plan: Plan) -> Path:
        """The file of a plan, created if it is missing."""
        path = self.data / plan.name
        if not path.exists():
            self.tell(f"writing {path.name}")
            write(plan, path)
        return path

    @cached_property
    def data(self) -> Path:
        """The folder of made-up files, which is kept until the generator changes."""
        folder = self.folder / "data" / _digest_of_makers()
        if not folder.exists():
            remove(folder.parent)
            folder.mkdir(parents=True)
        return folder

    def output(self, name: str) -> Path:
        """The output path of a contender."""
        folder = self.folder / "output"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / name

    def able(
        self, contenders: Sequence[Contender], source: Path
    ) -> tuple[list[Contender], list[str]]:
        """The contenders that can run here on this input, and why the others cannot."""
        size = source.stat().st_size
        reasons = {one.name: one.why_not(size) for one in contenders}
        return [one for one in contenders if not reasons[one.name]], [
            *filter(None, reasons.values())
        ]

    def race(self, contenders: Sequence[Contender], rounds: int = 0) -> dict[str, Cost]:
        """Run them in turn."""
        return race(contenders, rounds or self.rounds, self.tell)

    @cached_property
    def one_worker(self) -> tuple[str, ...]:
        """The options that limit `pair` to one process, if it has them."""
        words = [self.prefpairs, "pair", "--help"]
        told = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        return ("--workers", "1") if "--workers" in told else ()

    def program(self, name: str, words: Iterable[object], output: Path | None = None) -> Contender:
        """Prefpairs itself as a contender; `-o` is added if there is an output."""
        where = () if output is None else ("-o", output)
        command = (self.prefpairs, *map(str, (*words, *where)))
        return Contender(name=name, command=command, output=output)

    def python_alone(
        self, name: str, words: Iterable[object], output: Path | None = None
    ) -> Contender:
        """The same without the native core."""
        return replace(self.program(name, words, output), variables={"PREFPAIRS_NATIVE": "0"})

    def peer(self, name: str, script: str, source: Path, *, needs: str = "") -> Contender:
        """A script of peers/ as a contender."""
        output = self.output(f"{script}.jsonl")
        command = (sys.executable, str(PEERS / f"{script}.py"), str(source), str(output))
        return Contender(
            name=name,
            command=command,
            output=output,
            needs=needs,
            appetite=APPETITES.get(script, 0.0),
        )

    def clear(self) -> None:
        """Remove the outputs of contenders."""
        remove(self.folder / "output")


def _digest_of_makers() -> str:
    """Identifies the sources of the generator."""
    sources = sorted((Path(__file__).parent / "data").glob("*.py"))
    return blake2b(b"".join(path.read_bytes() for path in sources), digest_size=4).hexdigest()


APPETITES = {"plain_python": 4.6, "polars_lazy": 1.6, "plain_nat": 6.1, "nat_builder": 6.4}
"""Measured peaks, as multiples of the input."""


def warm(path: Path) -> None:
    """Read a file once, so that the first contender does not pay for disk reads."""
    with path.open("rb") as file:
        while file.read(WARMING):
            pass
