"""extract: one pass, a line out for each candidate found."""

from prefpairs.engine.candidate_reader import reading_inputs, with_origin
from prefpairs.engine.plan import ReadPlan
from prefpairs.errors import NothingCameOut
from prefpairs.files.output import Output
from prefpairs.ledger import Ledger
from prefpairs.model.candidate import candidate_line


def extract(plan: ReadPlan, output: Output, ledger: Ledger, *, allow_empty: bool = False) -> None:
    """Write every candidate of the inputs; nothing more once a bad row was met."""
    with reading_inputs(plan, ledger) as reader:
        for given in reader.inputs():
            for record, reading, label in given.readings:
                if reader.rows.failed:
                    continue
                for slot in range(len(reading.kept)):
                    candidate = with_origin(reading, slot, label, record.number)
                    output.write(candidate_line(candidate))
    if not ledger.candidates_kept and not allow_empty:
        raise NothingCameOut("candidate")
