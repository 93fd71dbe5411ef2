"""report: the pairs on the page depend on the seed and their content."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pair_rows import pair_lines_mixed
from rollouts_of_any_format import asked, lines, shards_of
from run_in_process import Asked, Row, pair_lines
from survey_plans import looked_at

from hypothesis_examples import examples
from prefpairs.engine.survey_inputs import survey
from prefpairs.ledger import Ledger
from prefpairs.render.page.document import page
from prefpairs.render.page.gallery import Gallery

CHANCE = st.randoms(use_true_random=False)
OF_PLACES = ("origins", "who", "indexes")


def on_the_page(
    shards: Sequence[Sequence[bytes]], number: int, asked: Asked | None = None
) -> list[Row]:
    """The pairs on the page about these files, or about the pairs that `pair` would make."""
    with looked_at(shards, asked) as plan:
        ledger, gallery = Ledger(), Gallery(number, seed=0)
        found = survey(plan, ledger, gallery.add)
        assert gallery.number == found.pairs.pairs
        assert b"".join(page(found, ledger, gallery)).endswith(b"</html>\n")
    held: list[dict[str, Any]] = json.loads(gallery.data())
    told = [{key: value for key, value in pair.items() if key not in OF_PLACES} for pair in held]
    return sorted(told, key=json.dumps)


@examples(100)
@given(given_lines=pair_lines_mixed(), number=st.integers(0, 9), chance=CHANCE, data=st.data())
def test_any_order_of_pairs_gives_the_same_page(
    given_lines: list[bytes], number: int, chance: Random, data: st.DataObject
) -> None:
    """Shuffling lines and resharding files changes only the origins of pairs."""
    shuffled = list(given_lines)
    chance.shuffle(shuffled)
    shards = data.draw(shards_of(shuffled))
    assert on_the_page([given_lines], number) == on_the_page(shards, number)


@examples(100)
@given(given_lines=lines(), asked=asked(), number=st.integers(0, 9))
def test_rollouts_show_the_pairs_that_they_give(
    given_lines: list[bytes], asked: Asked, number: int
) -> None:
    """A page about rollouts has the pairs of a page about their pairs."""
    made = pair_lines(given_lines, asked)
    assert on_the_page([given_lines], number, asked) == on_the_page([made.lines], number)
