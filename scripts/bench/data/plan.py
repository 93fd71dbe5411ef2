"""The settings of made-up data, in one frozen object for every format."""

from dataclasses import dataclass, fields
from typing import Literal

Format = Literal["nemo-gym", "agentic", "nat", "generic", "lists", "objects"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A file of rollouts."""

    format: Format = "nemo-gym"
    rollouts: int = 100_000
    per_task: int = 8
    order: Literal["shuffled", "grouped"] = "shuffled"
    rewards: Literal["graded", "binary", "distinct"] = "graded"
    prompt_length: int = 150
    answer_length: int = 400
    escapes: float = 0.05
    non_ascii: float = 0.01
    script: Literal["latin", "chinese"] = "latin"
    seed: int = 0

    @property
    def name(self) -> str:
        """A file name that contains all settings other than the defaults.

        >>> Plan(rollouts=800, answer_length=3200).name
        'nemo-gym-800-answer_length-3200.jsonl'
        """
        usual = Plan()
        other = [
            f"-{field.name}-{value}"
            for field in fields(self)
            if field.name not in {"format", "rollouts"}
            and (value := getattr(self, field.name)) != getattr(usual, field.name)
        ]
        suffix = "json" if self.format == "nat" else "jsonl"
        return f"{self.format}-{self.rollouts}{''.join(other)}.{suffix}"
