"""The first records of all inputs, seen before any of them is read.

Fields that have to be guessed are guessed from all files of a kind together, so that it does
not matter how rows are cut into files.
"""

import os
from itertools import islice

from prefpairs.engines.plan import ReadPlan
from prefpairs.errors import NoSuchPath
from prefpairs.files.inputs import Input
from prefpairs.files.reading import open_input
from prefpairs.sources.detect import detect, doubtful_paths

SAMPLE = 256


class Samples:
    """What the inputs begin with. Pipes are seen only when their turn has come."""

    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan
        self._by_source: dict[str, list[bytes]] = {}
        self._seen: dict[str, str] = {}
        if len(plan.inputs) > 1:
            for source in plan.inputs:
                if not source.is_stdin and os.path.isfile(source.path):
                    with open_input(source) as opened:
                        records = [record.data for record in islice(opened.records, SAMPLE)]
                    self.add(source, records)

    def add(self, source: Input, records: list[bytes]) -> tuple[str, list[bytes]]:
        """The name of an input's source, and the sample of all inputs of that source."""
        if source.path not in self._seen:
            name = detect(records) if self._plan.source == "auto" else self._plan.source
            self._seen[source.path] = name
            self._by_source.setdefault(name, []).extend(records)
        name = self._seen[source.path]
        return name, self._by_source[name]

    def doubtful_paths(self) -> list[NoSuchPath]:
        """Paths of the options that no sample has. Those of nat point into a step."""
        pooled = [
            record
            for name, records in self._by_source.items()
            for record in records
            if name != "nat"
        ]
        return doubtful_paths(pooled, self._plan.options)
