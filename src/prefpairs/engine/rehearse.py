"""prefpairs rehearse: a trial run of TRL's DPO trainer on a dataset, offline, on a CPU.

The model is random and has a few thousand weights. Unless a tokenizer is given, one of bytes is
made in code. So nothing is downloaded, and it shows whether the trainer takes steps on a dataset.
"""

import atexit
import copy
import gc
import logging
import math
import os
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from prefpairs.errors import FileError
from prefpairs.files.file_system import exists, is_folder
from prefpairs.optional_libraries import missing_library

STEPS = 20
MOST_ROWS = 8
_LONGEST = 4096
"""Rows of more tokens than this are not trained on, as long as there are shorter ones."""

_LN_2 = math.log(2)
_OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsePlan:
    """Which dataset, with which tokenizer, cut to which length."""

    path: str
    tokenizer: str | None = None
    max_length: int | None = None


@dataclass(slots=True)
class Rehearsal:
    """What the trainer made of it. `trouble` is what it raised, and where."""

    trainer: str = ""
    weights: int = 0
    loaded: int = 0
    kept: int = 0
    equal_sides: int = 0
    said: list[str] = field(default_factory=list)
    first_loss: float = math.nan
    gradient: float = math.nan
    trained: int = 0
    last_loss: float = math.nan
    wins: float = math.nan
    trouble: str | None = None

    def problems(self) -> list[str]:
        """Why this dataset does not train as it should; nothing where it does."""
        if self.trouble is not None:
            return [self.trouble]
        checks = {
            f"{self.loaded - self.kept:,} of {self.loaded:,} rows are dropped": (
                self.kept == self.loaded
            ),
            f"{self.equal_sides:,} of {self.kept:,} rows have equal sides": not self.equal_sides,
            f"the first loss is {self.first_loss:.6f}, not ln 2": math.isclose(
                self.first_loss, _LN_2, abs_tol=1e-4
            ),
            "there is no gradient": self.gradient > 1e-4,
            f"after {STEPS} steps the chosen side wins in {self.wins:.0%} only": self.wins > 0.9,
            **{f"the trainer warns: {line}": False for line in self.said},
        }
        return [problem for problem, fine in checks.items() if not fine]


def rehearse(plan: RehearsePlan) -> Rehearsal:
    """Load the dataset, let DPO tokenize all of it, and train on a few rows."""
    if not exists(plan.path):
        raise FileError(plan.path, "no such file")
    rehearsal = Rehearsal()
    with _offline() as folder:
        trl = _imported()
        rehearsal.trainer = f"trl {trl.__version__}"
        with _heard("trl") as rehearsal.said:
            try:
                _run(trl, plan, rehearsal, folder)
            except Exception as error:  # noqa: BLE001 - whatever a trainer raises is the verdict
                cause = error.__cause__ or error
                rehearsal.trouble = f"{type(cause).__name__}: {cause}".splitlines()[0]
    return rehearsal


def _run(trl: Any, plan: RehearsePlan, rehearsal: Rehearsal, folder: str) -> None:
    rows = _load(plan.path)
    rehearsal.loaded = len(rows)
    tokenizer = _tokenizer(plan.tokenizer)
    model = random_model(tokenizer)
    rehearsal.weights = sum(weight.numel() for weight in model.parameters())
    trainer = trl.DPOTrainer(
        model,
        ref_model=copy.deepcopy(model),
        args=trl.DPOConfig(max_length=plan.max_length, **_settings(folder)),
        train_dataset=rows,
        processing_class=tokenizer,
    )
    kept = trainer.train_dataset
    rehearsal.kept = len(kept)
    lengths = []
    for row in kept:
        rehearsal.equal_sides += _equal(row, plan.max_length)
        answer = max(len(row["chosen_ids"]), len(row["rejected_ids"]))
        lengths.append(len(row["prompt_ids"]) + answer)
    trainer.train_dataset = kept.select(_few(lengths))
    rehearsal.trained = len(trainer.train_dataset)
    _train(trainer, rehearsal)


def _train(trainer: Any, rehearsal: Rehearsal) -> None:
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    trainer.train()
    history = [step for step in trainer.state.log_history if "loss" in step]
    rehearsal.first_loss = float(history[0]["loss"])
    rehearsal.gradient = float(history[0]["grad_norm"])
    rehearsal.last_loss = float(history[-1]["loss"])
    rehearsal.wins = float(history[-1]["rewards/accuracies"])


def _load(path: str) -> Any:
    """The training rows of a folder or file, as the command line of TRL would load them."""
    import datasets

    datasets.disable_progress_bars()
    if is_folder(path):
        return datasets.load_dataset(path)["train"]
    kind = "parquet" if path.endswith(".parquet") else "json"
    return datasets.load_dataset(kind, data_files=path)["train"]


def _tokenizer(folder: str | None) -> Any:
    if folder is None:
        return byte_tokenizer()
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


def _equal(row: dict[str, Any], max_length: int | None) -> bool:
    """Whether both sides are the same tokens once they are cut."""
    room = None if max_length is None else max(max_length - len(row["prompt_ids"]), 0)
    return bool(row["chosen_ids"][:room] == row["rejected_ids"][:room])


def _few(lengths: list[int]) -> list[int]:
    """The first few rows that are not too long, or the shortest one."""
    short = [number for number, length in enumerate(lengths) if length <= _LONGEST]
    if not short and lengths:
        return [lengths.index(min(lengths))]
    return short[:MOST_ROWS]


def _settings(folder: str) -> dict[str, Any]:
    """A trainer that runs on any machine, and learns a few rows by heart."""
    return {
        "output_dir": folder,
        "learning_rate": 5e-3,
        "lr_scheduler_type": "constant",
        "max_steps": STEPS,
        "per_device_train_batch_size": MOST_ROWS,
        "logging_steps": 1,
        "max_grad_norm": 0.0,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
    }


def _imported() -> Any:
    try:
        import trl
    except ImportError:
        raise missing_library("rehearse", "rehearse") from None
    atexit.register(gc.unfreeze)  # else torch's CUDA builds complain of what Python leaves behind
    return trl


@contextmanager
def _offline() -> Iterator[str]:
    """A folder for all that libraries keep, and no way to the network."""
    with tempfile.TemporaryDirectory(prefix="prefpairs-") as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        before = dict(os.environ)
        os.environ.update(_OFFLINE, HF_HOME=folder)
        try:
            yield folder
        finally:
            os.environ.clear()
            os.environ.update(before)


@contextmanager
def _heard(name: str) -> Iterator[list[str]]:
    """The warnings of a library, which stay off the screen."""
    heard: list[str] = []
    logger = logging.getLogger(name)
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: heard.append(record.getMessage())  # type: ignore[method-assign]
    propagates, logger.propagate = logger.propagate, False
    logger.addHandler(handler)
    try:
        yield heard
    finally:
        logger.removeHandler(handler)
        logger.propagate = propagates


CHAT_TEMPLATE = """\
{%- if tools -%}
<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif -%}
{%- for message in messages -%}
<|im_start|>{{ message.role }}
{% if message.reasoning_content %}<think>
{{ message.reasoning_content }}
</think>

{% endif %}{{ message.content }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": {{ call.function.name | tojson }}, "arguments": {{
    call.function.arguments if call.function.arguments is string
    else call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% endfor -%}
{%- if add_generation_prompt -%}
<|im_start|>assistant
{% endif -%}
"""
"""ChatML, with tools, calls and thinking, and arguments in either form."""


def byte_tokenizer() -> Any:
    """A token a byte, and the marks of ChatML."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {letter: number for number, letter in enumerate(letters)}
    bytes_alone = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    bytes_alone.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bytes_alone.decoder = decoders.ByteLevel()
    marks = {"eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=bytes_alone, additional_special_tokens=["<|im_start|>"], **marks
    )
    tokenizer.chat_template = CHAT_TEMPLATE
    return tokenizer


def random_model(tokenizer: Any) -> Any:
    """A Qwen2 of two narrow layers, the same each time."""
    from transformers import Qwen2Config, Qwen2ForCausalLM, set_seed

    set_seed(0)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(tokenizer),
            hidden_size=32,
            intermediate_size=64,
            num_hidden_layers=2,
            num_attention_heads=4,
            num_key_value_heads=2,
            max_position_embeddings=1 << 15,
            tie_word_embeddings=True,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=None,
        )
    )
