"""The measurements: one case per file, and the table of all cases."""

from collections.abc import Callable

from bench.cases.agentic import agentic, chinese
from bench.cases.curate import curate
from bench.cases.exhaustive import exhaustive
from bench.cases.generic import generic
from bench.cases.length import length
from bench.cases.nat import nat
from bench.cases.options import options
from bench.cases.pair import pair
from bench.cases.runners import runners
from bench.cases.startup import startup
from bench.cases.streams import streams
from bench.cases.tokens import tokens
from bench.results import Finding
from bench.setting import Setting

CASES: dict[str, Callable[[Setting], Finding]] = {
    "agentic": agentic,
    "chinese": chinese,
    "pair": pair,
    "options": options,
    "streams": streams,
    "length": length,
    "exhaustive": exhaustive,
    "curate": curate,
    "runners": runners,
    "startup": startup,
    "nat": nat,
    "generic": generic,
    "tokens": tokens,
}
