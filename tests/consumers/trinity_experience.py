"""Reads a file of `--to trinity-experience` with Trinity-RFT's own code, and gathers its rows.

A frame (TRXP) is read by `Experience.deserialize_many`, a database by `SQLReader`. Experiences for
DPO are split by `split_dpo_experience_to_single_turn`. `--gather` is the number of prompt tokens
and of answer tokens to which they are gathered, the former padded on the left.
"""

import argparse
import asyncio
import importlib
import json
from pathlib import Path
from typing import Any

import consumer_kit
from consumer_kit import Outcome


def options(parser: argparse.ArgumentParser) -> None:
    """Adds the two lengths."""
    parser.add_argument("--gather", type=int, nargs=2, default=None)


def work(arguments: argparse.Namespace, outcome: Outcome) -> None:
    """Loads all experiences, splits and gathers them."""
    library = importlib.import_module("trinity.common.experience")
    path = Path(arguments.path).absolute()
    if path.suffix == ".trxp":
        made = library.Experience.deserialize_many(path.read_bytes())
    else:
        made = asyncio.run(_of_database(path))
    again = library.Experience.deserialize_many(library.Experience.serialize_many(made))
    outcome.rows_out = len(again)
    single = made
    if made[0].chosen is not None:
        single = library.split_dpo_experience_to_single_turn(made)
    outcome.facts.update(
        types=sorted({each.experience_type for each in made}),
        single_types=sorted({each.experience_type for each in single}),
        uids=[each.eid.uid for each in made],
        rewards=[each.reward for each in made],
        masks=[each.action_mask.tolist() for each in single],
        custom_fields=sorted(
            {f"{one.source_field} {one.data_type}" for each in made for one in each.custom_fields}
        ),
    )
    for each in made:
        answers = [side for side in (each.chosen, each.rejected) if side is not None]
        parts = [each.tokens, *(answers or [each.tokens, each.tokens])]
        outcome.show(*(json.dumps(part.tolist()) for part in parts))
    if arguments.gather:
        prompt, answer = arguments.gather
        gathered = library.gather_token_ids(single, prompt, answer, 0)
        attended = library.gather_attention_masks(single, prompt, answer)
        outcome.facts["gathered"] = gathered.tolist()
        outcome.facts["attended"] = attended.int().tolist()


async def _of_database(path: Path) -> list[Any]:
    config = importlib.import_module("trinity.common.config")
    reader = importlib.import_module("trinity.buffer.reader.sql_reader")
    sqlite3 = importlib.import_module("sqlite3")
    with sqlite3.connect(path) as database:
        columns = [row[1] for row in database.execute(f'PRAGMA table_info("{path.stem}")')]
        (count,) = database.execute(f'SELECT count(*) FROM "{path.stem}"').fetchone()  # noqa: S608
    given = config.StorageConfig(
        name=path.stem,
        path=f"sqlite:///{path}",
        storage_type="sql",
        schema_type="dpo" if "chosen_message_list" in columns else "experience",
        wrap_in_ray=False,
        batch_size=count,
        max_read_timeout=5,
    )
    found: list[Any] = await reader.SQLReader(given).read()
    return found


if __name__ == "__main__":
    consumer_kit.run("trinity_experience", "trinity-rft", work, options)
