"""What the inputs look like, seen before any of them is read.

Fields that have to be guessed are guessed from all files of a kind together, so that it does
not matter how rows are cut into files. Only the shapes of rows are remembered, not their text.
"""

import os
from collections import Counter
from collections.abc import Iterable, Iterator

from prefpairs.engines.plan import ReadPlan
from prefpairs.errors import NoSuchPath
from prefpairs.files.inputs import Input
from prefpairs.files.lines import Record
from prefpairs.files.reading import open_input
from prefpairs.sources.detect import Shapes, detect, doubtful_paths, shape_of
from prefpairs.sources.trinity import OWN_FIELDS

_MOST_ROWS = 256
_MOST_BYTES = 4 << 20


def first_records(records: Iterator[Record]) -> list[Record]:
    """The first records of a file: a bounded number of rows, and of bytes."""
    first, size = [], 0
    for record in records:
        first.append(record)
        size += len(record.data)
        if len(first) == _MOST_ROWS or size >= _MOST_BYTES:
            break
    return first


class Samples:
    """The shapes of all inputs. Pipes are seen only when their turn has come."""

    def __init__(self, plan: ReadPlan) -> None:
        self._plan = plan
        self._shapes: dict[str, Counter[bytes]] = {}
        self._source_of: dict[str, str] = {}
        if len(plan.inputs) > 1:
            for source in plan.inputs:
                if not source.is_stdin and os.path.isfile(source.path):
                    with open_input(source) as opened:
                        self.add(source, first_records(opened.records))

    def add(self, source: Input, first: Iterable[Record]) -> tuple[str, Shapes]:
        """The name of an input's source, and the shapes of all rows of that source."""
        if source.path not in self._source_of:
            records = [record.data for record in first]
            name = detect(records) if self._plan.source == "auto" else self._plan.source
            self._source_of[source.path] = name
            self._shapes.setdefault(name, Counter()).update(filter(None, map(shape_of, records)))
        name = self._source_of[source.path]
        return name, self._shapes[name]

    def doubtful_paths(self) -> list[NoSuchPath]:
        """Paths of the options that no sample has.

        Those of nat point into a step, and some of trinity to what it adds to a row.
        """
        shapes: Counter[bytes] = Counter()
        for name, of_source in self._shapes.items():
            if name != "nat":
                shapes.update(of_source)
            if name == "trinity":
                shapes[OWN_FIELDS] += 1
        return doubtful_paths(shapes, self._plan.options)
