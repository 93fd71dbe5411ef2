"""Where a run takes place: in this process, or in steps that other processes and machines run."""

from prefpairs.errors import EmptyName, OptionNeeds, UnknownWord
from prefpairs.option import option, options, size_of

_RUN = "Execution"
LOCAL, SHARDS, RAY = _KINDS = ("local", "shards", "ray")


@options
class RunnerPlan:
    """Which runner runs the steps of a plan, and into how many steps it is divided."""

    runner: str = option(
        LOCAL,
        metavar="local|shards|ray[:ADDRESS]",
        panel=_RUN,
        help="shards: only plan the steps, which `prefpairs shards` runs under any scheduler. ray: "
        "run them on the Ray cluster at ADDRESS (default: RAY_ADDRESS, or a cluster of this "
        "machine, started for the run). The result has the same bytes.",
    )
    parts: int | None = option(
        None,
        metavar="N",
        least=1,
        most=100_000,
        panel=_RUN,
        help="With --runner shards or ray: number of output files (default: as many as steps "
        "that read the input).",
    )
    range_size: str | None = option(
        None,
        metavar="SIZE",
        panel=_RUN,
        help="With --runner shards or ray: bytes of input that a step reads (default: 256MB, or a "
        "thousandth of the input).",
    )

    @property
    def kind(self) -> str:
        """The runner without its address."""
        return self.runner.partition(":")[0]

    @property
    def address(self) -> str | None:
        """The address of a Ray cluster, if it was named."""
        return self.runner.partition(":")[2] or None

    @property
    def bytes_per_step(self) -> int | None:
        """How many bytes of input a step reads, if that was said."""
        return None if self.range_size is None else size_of("--range-size", self.range_size)

    def check(self) -> None:
        """Raise for a runner that does not exist, and for options that it does not use."""
        known = self.runner in _KINDS or self.kind == RAY
        if not known:
            raise UnknownWord("--runner", self.runner, (*_KINDS, "ray:ADDRESS"))
        if self.kind == RAY and self.runner.endswith(":"):
            raise EmptyName("--runner ray:ADDRESS")
        _ = self.bytes_per_step
        for name in ("parts", "range_size"):
            if self.kind == LOCAL and getattr(self, name) is not None:
                raise OptionNeeds(f"--{name.replace('_', '-')}", "--runner shards")
