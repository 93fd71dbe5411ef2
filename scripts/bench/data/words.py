"""Cheap text: slices of a seeded pool of words, already encoded for JSON."""

import struct
from array import array
from collections.abc import Iterator, Sequence
from functools import cached_property
from hashlib import blake2b
from itertools import islice

POOL_WORDS = 1 << 16
PLAIN = """
the of and to in is that for it as was with be by on not he this are or from at which
have an we so first then value step check result force energy divide answer because
therefore problem given units equation substitute compute approximately temperature
velocity resistor constant wait actually hold again total kinetic pressure volume 12 0.5
300 1e-3 x= (a+b)
"""
CHINESE = """
首先我们需要把已知条件写清楚、 然后代入公式进行计算、
能量守恒定律在这里同样适用。 因此答案应该是三百焦耳。
等一下、让我再检查一遍这个结果、 温度和压强之间的关系是线性的、
客户的订单还没有发货。 可以先查询记录再修改地址、 如果超过七天就不能退款、
系统返回的金额与账单不一致、 所以必须转给人工处理。 速度等于路程除以时间、
电阻为常数时电流不变、 请稍等、我马上为您核实。 这一步的假设是否成立。
总共需要十二个单位、 验证完毕、可以继续下一步。 x= 0.5 12 1e-3
"""
SCRIPTS = {"latin": PLAIN, "chinese": CHINESE}
ESCAPED = (r"\n\n", r"\"quoted\"", r"\\frac{1}{2}", r"\\text{kW}", r"\t-", r"done.\n", r"\u2248")
FOREIGN = ("naïve", "größer", "数学", "решение", "答案是", "😀", "Ångström", "≈", "β-decay")


class WordPool:
    """A pool of words, of which some contain escapes and some are not ASCII.

    Nothing is encoded while rows are written: a text is a slice between two spaces.

    >>> pool = WordPool(seed=0, escapes=0.0, non_ascii=0.0)
    >>> pool.text(12345, 40)
    b'and in 12 hold this at 12'
    >>> pool.text(12345, 40) == WordPool(seed=1, escapes=0.0, non_ascii=0.0).text(12345, 40)
    False
    """

    def __init__(
        self, *, seed: int, escapes: float, non_ascii: float, script: str = "latin"
    ) -> None:
        self._seed, self._non_ascii, self._script = seed, non_ascii, script
        words = islice(_words(seed, escapes, non_ascii, SCRIPTS[script].split()), POOL_WORDS)
        self._starts = array("I")
        pool = bytearray()
        for word in words:
            self._starts.append(len(pool))
            pool += word.encode() + b" "
        self._bytes = bytes(pool)
        self._mean = len(pool) / POOL_WORDS

    @cached_property
    def plain(self) -> "WordPool":
        """A pool without escapes, for JSON inside a JSON string."""
        return WordPool(
            seed=self._seed, escapes=0.0, non_ascii=self._non_ascii, script=self._script
        )

    def text(self, draw: int, length: int) -> bytes:
        """About this many bytes, from a position that depends on the draw."""
        words = max(1, round(length / self._mean))
        first = draw % (POOL_WORDS - 1)
        parts = []
        while words > 0:
            last = min(first + words, POOL_WORDS - 1)
            parts.append(self._bytes[self._starts[first] : self._starts[last] - 1])
            words -= last - first
            first = 0
        return b" ".join(parts)


def _words(seed: int, escapes: float, non_ascii: float, plain: Sequence[str]) -> Iterator[str]:
    """Endless words with these fractions of escaped and non-ASCII ones."""
    draws = _draws(seed)
    while True:
        kind, place = next(draws) / 2**32, next(draws)
        if kind < escapes:
            yield ESCAPED[place % len(ESCAPED)]
        elif kind < escapes + non_ascii:
            yield FOREIGN[place % len(FOREIGN)]
        else:
            yield plain[place % len(plain)]


def _draws(seed: int) -> Iterator[int]:
    """Endless numbers below 2**32, the same with every version of Python."""
    number = 0
    while True:
        yield from struct.unpack("<16I", blake2b(b"%d:%d" % (seed, number)).digest())
        number += 1
