"""Prompts that are on two sides of a dataset, as its files are read one after the other."""

from array import array
from collections.abc import Mapping

from prefpairs.files.inputs import Input
from prefpairs.stages.digest_table import DigestTable


class FirstPlaces:
    """Where each prompt was first: some 50 bytes a prompt."""

    def __init__(self, sides: Mapping[Input, str]) -> None:
        self._sides = sides
        self._files = list(sides)
        self._number_of = {given: number for number, given in enumerate(sides)}
        self._prompts = DigestTable()
        self._file_of = array("I")
        self._line_of = array("Q")

    def elsewhere(self, prompt: bytes, source: Input, line: int) -> str | None:
        """The place where a prompt was before, if that is on another side than this row."""
        number = self._prompts.number_of(prompt)
        if number == len(self._file_of):
            self._file_of.append(self._number_of[source])
            self._line_of.append(line)
        first = self._files[self._file_of[number]]
        if self._sides[first] == self._sides[source]:
            return None
        return f"{first.label}:{self._line_of[number]}"
