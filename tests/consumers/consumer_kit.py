"""What all consumer programs share: arguments, a quiet stdout, one JSON object at the end."""

import argparse
import contextlib
import gzip
import importlib
import importlib.metadata
import json
import math
import os
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MOST_EXAMPLES = 20
DATA_SUFFIXES = (".jsonl", ".jsonl.gz", ".json", ".parquet")
HERE = os.path.dirname(os.path.abspath(__file__))


@dataclass
class Outcome:
    """What a consumer found in a dataset; filled step by step, so that an error keeps the rest."""

    consumer: str
    version: str | None = None
    rows_in: int | None = None
    rows_out: int | None = None
    error: str | None = None
    examples: list[dict[str, str]] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    def show(self, prompt: str, chosen: str, rejected: str) -> None:
        """Keeps the texts of one pair if there is still room."""
        if len(self.examples) < MOST_EXAMPLES:
            self.examples.append({"prompt": prompt, "chosen": chosen, "rejected": rejected})


Work = Callable[[argparse.Namespace, Outcome], None]


def run(
    consumer: str, package: str | None, work: Work, add_options: Callable[..., None] | None = None
) -> None:
    """Runs a consumer on the path of the command line and prints the outcome as one JSON line."""
    parser = argparse.ArgumentParser(prog=f"{consumer}.py")
    parser.add_argument("path", type=os.path.abspath)
    if add_options is not None:
        add_options(parser)
    arguments = parser.parse_args()
    # A program has the name of its consumer's package, so `import` must search its folder last.
    sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != HERE] + [HERE]
    outcome = Outcome(consumer)
    with _stdout_kept() as answer, _a_home_of_its_own():
        try:
            if package is not None:
                outcome.version = importlib.metadata.version(package)
            outcome.rows_in = count_rows(arguments.path)
            work(arguments, outcome)
        except (Exception, SystemExit) as error:  # noqa: BLE001  # any failure is the answer
            traceback.print_exc()
            outcome.error = f"{type(error).__name__}: {error}"
            if error.__cause__ is not None:
                cause = f"{type(error.__cause__).__name__}: {error.__cause__}"
                outcome.facts["cause"] = cause[-500:]
        line = json.dumps(_finite(asdict(outcome)), ensure_ascii=True, default=str)
        os.write(answer, line.encode() + b"\n")


def data_files(path: str) -> list[str]:
    """The data files at a path: the file itself, or all files below a folder."""
    if os.path.isfile(path):
        return [path]
    found = [str(each) for each in Path(path).rglob("*") if each.name.endswith(DATA_SUFFIXES)]
    return sorted(each for each in found if os.path.basename(each) != "dataset_info.json")


def read_lines(path: str) -> Iterator[Any]:
    """The JSON values of a JSONL file."""
    opener: Callable[..., Any] = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8-sig") as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def count_rows(path: str) -> int | None:
    """The number of lines in the files, or None if one is not JSONL."""
    total = 0
    for each in data_files(path):
        if not each.endswith((".jsonl", ".jsonl.gz")):
            return None
        opener: Callable[..., Any] = gzip.open if each.endswith(".gz") else open
        with opener(each, "rb") as lines:
            total += sum(1 for line in lines if line.strip())
    return total


def load_rows(path: str, split: str = "train") -> Any:
    """One split of a file or a folder, loaded by the datasets library."""
    datasets = importlib.import_module("datasets")
    if os.path.isdir(path):
        return datasets.load_dataset(path, split=split)
    builder = "parquet" if path.endswith(".parquet") else "json"
    return datasets.load_dataset(builder, data_files=path, split="train")


def split_option(parser: argparse.ArgumentParser) -> None:
    """Adds the option that names the split of a folder."""
    parser.add_argument("--split", default="train")


def text_of(value: Any) -> str:
    """A text as it is; anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)


def _finite(value: Any) -> Any:
    """The value, with numbers that JSON cannot represent written as text."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(key): _finite(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return value


@contextlib.contextmanager
def _stdout_kept() -> Iterator[int]:
    """Redirects stdout to stderr and yields the real stdout."""
    sys.stdout.flush()
    answer = os.dup(1)
    os.dup2(2, 1)
    try:
        yield answer
    finally:
        sys.stdout.flush()
        os.dup2(answer, 1)
        os.close(answer)


@contextlib.contextmanager
def _a_home_of_its_own() -> Iterator[None]:
    """Keeps all library caches in a temporary folder, and the libraries offline."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
        os.environ.update(
            HF_HOME=home,
            HF_DATASETS_CACHE=os.path.join(home, "datasets"),
            HF_MODULES_CACHE=os.path.join(home, "modules"),
            MODELSCOPE_CACHE=os.path.join(home, "modelscope"),
            TRITON_CACHE_DIR=os.path.join(home, "triton"),
            HF_HUB_OFFLINE="1",
            HF_DATASETS_OFFLINE="1",
            TRANSFORMERS_OFFLINE="1",
            HF_HUB_DISABLE_TELEMETRY="1",
            WANDB_MODE="disabled",
            CUDA_VISIBLE_DEVICES="",
            TOKENIZERS_PARALLELISM="false",
        )
        yield
