"""`python scripts/bench generate`: made-up rollouts for your own measurements."""

import argparse
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

from bench.data.plan import Plan
from bench.data.writing import write


def generate(words: list[str]) -> int:
    """Write made-up rollouts: the same words give the same bytes, on any machine."""
    options = vars(_parser().parse_args(words))
    output = options.pop("output")
    plan = Plan(**options)
    write(plan, output or Path(plan.name))
    return 0


def _parser() -> argparse.ArgumentParser:
    """An option for every field of a plan."""
    parser = argparse.ArgumentParser(
        prog="python scripts/bench generate",
        description=generate.__doc__,
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    usual, kinds = Plan(), get_type_hints(Plan)
    for field in fields(Plan):
        default = getattr(usual, field.name)
        parser.add_argument(
            f"--{field.name.replace('_', '-')}",
            default=default,
            type=type(default),
            choices=get_args(kinds[field.name]) or None,
            help=WORDS[field.name],
        )
    parser.add_argument("-o", "--output", type=Path, help="FILE, else a name that says it all")
    return parser


WORDS = {
    "format": "whose rows",
    "rollouts": "how many, candidates of NAT included",
    "per_task": "rollouts a task, or candidates a turn",
    "order": "whether the rollouts of a task stand together",
    "rewards": "five grades, zero and one, or no two equal in a task",
    "prompt_length": "bytes of a prompt, on average",
    "answer_length": "bytes of an answer with its thinking, on average",
    "escapes": "share of words that hold an escape",
    "non_ascii": "share of words that are not ASCII",
    "script": "what the other words are written in",
    "seed": "another seed, other texts",
}
