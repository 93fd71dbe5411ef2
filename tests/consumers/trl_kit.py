"""What the programs for the trainers of TRL share: settings, options, real steps on CPU."""

import argparse
import contextlib
import logging
import os
from collections.abc import Iterator
from typing import Any

import consumer_kit
from consumer_kit import Outcome

TRAINED_ROWS = 8
STEPS = 20
MEASURES = frozenset(
    {
        "accuracy",
        "margin",
        "rewards/accuracies",
        "rewards/chosen",
        "rewards/margins",
        "rewards/rejected",
    }
)


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that all trainers of TRL have here."""
    consumer_kit.split_option(parser)
    parser.add_argument("--max-length", type=int, default=4096, help="tokens; a token is a byte")
    parser.add_argument("--learning-rate", type=float, default=5e-3)


def settings(arguments: argparse.Namespace) -> dict[str, Any]:
    """The settings of a trainer that overfits a few rows on CPU."""
    return {
        "output_dir": os.path.join(os.environ["HF_HOME"], "out"),
        "max_length": arguments.max_length,
        "learning_rate": arguments.learning_rate,
        "lr_scheduler_type": "constant",
        "max_steps": STEPS,
        "per_device_train_batch_size": TRAINED_ROWS,
        "logging_steps": 1,
        "max_grad_norm": 0.0,
        "use_cpu": True,
        "bf16": False,
        "gradient_checkpointing": False,
        "report_to": "none",
        "save_strategy": "no",
        "disable_tqdm": True,
    }


def note_loaded(rows: Any, outcome: Outcome) -> None:
    """Records how many rows the datasets library read."""
    outcome.facts["rows_loaded"] = len(rows)
    outcome.facts["columns"] = list(rows.column_names)


def note_kept(trainer: Any, loaded: int, outcome: Outcome) -> None:
    """Records how many rows the trainer keeps."""
    outcome.rows_out = len(trainer.train_dataset)
    outcome.facts["rows_dropped"] = loaded - outcome.rows_out


def first_of(rows: Any, count: int) -> Any:
    """The first rows of a dataset, or all if there are fewer."""
    return rows.select(range(min(count, len(rows))))


def same_sides(row: dict[str, Any], max_length: int) -> bool:
    """Whether chosen and rejected have the same tokens after truncation."""
    room = max_length - len(row["prompt_ids"])
    return bool(row["chosen_ids"][:room] == row["rejected_ids"][:room])


def train(trainer: Any, outcome: Outcome) -> None:
    """Takes the steps on the first rows and measures the same rows before and after."""
    rows = first_of(trainer.train_dataset, TRAINED_ROWS)
    if len(rows) > 0:  # if no row is left, the trainer must fail as it does for users
        trainer.train_dataset = rows
    trainer.train()
    history = [each for each in trainer.state.log_history if "loss" in each]
    losses = [float(each["loss"]) for each in history]
    norms = [float(each["grad_norm"]) for each in history]
    outcome.facts.update(
        rows_trained=len(rows),
        steps=len(losses),
        first_loss=losses[0],
        last_loss=losses[-1],
        losses=losses,
        first_grad_norm=norms[0],
        last_metrics={key: value for key, value in history[-1].items() if key in MEASURES},
    )


@contextlib.contextmanager
def warnings_of(logger_name: str) -> Iterator[list[str]]:
    """Collects the warnings that a library logs."""
    said: list[str] = []

    class Keeper(logging.Handler):
        """Keeps the text of each warning."""

        def emit(self, record: logging.LogRecord) -> None:
            """Keeps one log record."""
            said.append(record.getMessage())

    keeper = Keeper(logging.WARNING)
    logger = logging.getLogger(logger_name)
    logger.addHandler(keeper)
    try:
        yield said
    finally:
        logger.removeHandler(keeper)
