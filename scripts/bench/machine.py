"""The machine, described without naming it."""

import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bench.results import Machine

LIBRARIES = ("prefpairs", "prefpairs-native", "orjson", "msgspec", "duckdb", "polars")


def this_machine() -> Machine:
    """What readers need to judge the figures."""
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return Machine(
        cpu=_cpu(),
        cores=os.cpu_count() or 1,
        memory_gb=round(pages / 2**30, 1),
        system=f"{platform.system()} {'.'.join(platform.release().split('.')[:2])}",
        python=platform.python_version(),
        versions={name: found for name in LIBRARIES if (found := _version(name))},
    )


def _cpu() -> str:
    """The model, if the system reports it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()


def _version(name: str) -> str:
    """The version installed here, if any."""
    try:
        return version(name)
    except PackageNotFoundError:
        return ""
