"""The files that stages name in their options: found, and read for them."""

from collections.abc import Callable, Sequence

from prefpairs.engine.benchmark_prompts import read_reference
from prefpairs.files.input_paths import find_inputs
from prefpairs.files.inputs import Input
from prefpairs.files.tokenizer import open_tokenizer
from prefpairs.stages.base import Stage
from prefpairs.stages.contamination import ReferencePrompts


def files_named_by(stage: Stage) -> list[Input]:
    """The files that a stage reads besides the pairs."""
    found = [*find_inputs(stage.benchmarks)] if stage.benchmarks else []
    return [*found, *(Input(path, path) for path in stage.tokenizers)]


def with_files(stage: Stage) -> Stage:
    """A stage with what is in the files that it names."""
    return stage.with_files(_Files())


class _Files:
    """Files as stages want them."""

    def prompts(
        self, paths: Sequence[str], field: str | None, *, near: float | None
    ) -> ReferencePrompts:
        """The prompts of a benchmark."""
        return read_reference(find_inputs(paths), field, near=near)

    def token_counter(self, path: str) -> Callable[[str], int]:
        """What counts the tokens of a text."""
        return open_tokenizer(path)
