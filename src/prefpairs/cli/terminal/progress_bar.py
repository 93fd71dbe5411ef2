"""A line that says how far a run is, as wide as there is room for it."""

from prefpairs.ledger.progress import Step

_SIZES = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes"))
_WIDEST, _NARROWEST = 30, 8
_GAP = "  "
_COLOUR, _DIM, _PLAIN = "\x1b[36m", "\x1b[2m", "\x1b[0m"


def bar_line(step: Step, rate: float | None, room: int, *, ascii_only: bool, colours: bool) -> str:
    """How far a step is, at so many units a second; no more characters than there is room for.

    >>> step = Step("reading", 600_000_000, 2_400_000_000, "bytes")
    >>> bar_line(step, 360e6, 64, ascii_only=True, colours=False)
    'reading  ###----------   25%  0.6 of 2.4 GB  360 MB/s  0:05 left'
    >>> bar_line(Step("reading", 5_000, None, "bytes"), None, 64, ascii_only=True, colours=False)
    'reading  5.0 kB'
    """
    told = _told(step, rate)
    while len(told) > 1 and len(_GAP.join(told.values())) > room:
        told.pop(next(name for name in _FIRST_TO_GO if name in told))
    words = [*told.values()]
    left = room - len(_GAP.join(words)) - len(_GAP)
    if step.total and left >= _NARROWEST:
        width = min(left, _WIDEST)
        words.insert(1, _drawn(step.done / step.total, width, ascii_only, colours=colours))
    return _GAP.join(words)[: None if colours else room]


_FIRST_TO_GO = ("amount", "rate", "left", "share")


def _told(step: Step, rate: float | None) -> dict[str, str]:
    """What there is to say, in order."""
    told: dict[str, str] = {"verb": step.activity}
    if step.total:
        told["share"] = f"{int(100 * step.done / step.total):3}%"
    told["amount"] = _amount(step)
    if rate is not None:
        told["rate"] = f"{_scaled(rate, step.unit) if step.unit == 'bytes' else f'{rate:,.0f}'}/s"
        if step.total and rate > 0:
            told["left"] = f"{_clock((step.total - step.done) / rate)} left"
    return told


def _amount(step: Step) -> str:
    """How much is done, and of how much, in one unit."""
    if step.total is None:
        return _scaled(step.done, step.unit)
    total, unit = _scaled(step.total, step.unit).split(" ")
    done = _scaled(step.done, step.unit, like=step.total).split(" ")[0]
    return f"{done:>{len(total)}} of {total} {unit}"  # so that the bar keeps its length


def _scaled(number: float, unit: str, like: float | None = None) -> str:
    """A number with its unit; bytes in one that suits them, or another number."""
    if unit != "bytes":
        return f"{number:,.0f} {unit}"
    suits = number if like is None else like
    size, name = next(one for one in _SIZES if suits >= one[0] or one[0] == 1)
    digits = 1 if size > 1 and suits < 10 * size else 0
    return f"{number / size:.{digits}f} {name}"


def _clock(seconds: float) -> str:
    """A time as clocks show it.

    >>> _clock(5), _clock(125), _clock(3 * 3600 + 62)
    ('0:05', '2:05', '3:01:02')
    """
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def _drawn(share: float, width: int, ascii_only: bool, *, colours: bool) -> str:
    full = int(share * width)
    done, rest = ("#", "-") if ascii_only else ("━", "─")
    if not colours:
        return done * full + rest * (width - full)
    return f"{_COLOUR}{done * full}{_DIM}{rest * (width - full)}{_PLAIN}"
