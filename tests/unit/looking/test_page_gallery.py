"""Which pairs the page contains."""

import json
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from survey_of_rows import Row, entry_of

from hypothesis_examples import examples
from prefpairs.model.pair import pair_of
from prefpairs.render.page.gallery import Gallery, unevenness


def gallery_of(rows: list[Row], pairs: int, seed: int = 0) -> Gallery:
    """A gallery after all rows were added."""
    gallery = Gallery(pairs, seed)
    for number, row in enumerate(rows):
        pair, digests = pair_of(row)
        gallery.add(entry_of(number, pair, digests), pair)
    return gallery


def held(gallery: Gallery) -> list[dict[str, Any]]:
    """The pairs as data."""
    read: list[dict[str, Any]] = json.loads(gallery.data())
    return read


def drawn(gallery: Gallery) -> set[str]:
    """The IDs of the randomly drawn pairs."""
    return {pair["id"] for pair in held(gallery) if "drawn" in pair["why"]}


def some(number: int) -> list[Row]:
    """Pairs with various gaps and lengths."""
    return [
        {
            "prompt": f"Q{place}",
            "chosen": "a" * (1 + place * 7 % 30),
            "rejected": "b" * (1 + place * 3 % 10),
            "chosen_score": place % 50 / 100 + 0.01,
            "rejected_score": 0.0,
        }
        for place in range(number)
    ]


@examples(40)
@given(pairs=st.integers(1, 40), chance=st.randoms(use_true_random=False))
def test_order_does_not_matter(pairs: int, chance: Random) -> None:
    """The same pairs are shown for any order of the input, including copies and ties."""
    rows = some(80) + [{**row, "meta": {"copy": 1}} for row in some(20)]
    shuffled = list(rows)
    chance.shuffle(shuffled)

    def told(given_rows: list[Row]) -> list[str]:
        return sorted(json.dumps(pair) for pair in held(gallery_of(given_rows, pairs)))

    assert told(rows) == told(shuffled)


def test_samples_nest_and_depend_on_the_seed() -> None:
    """A smaller page's pairs are on the larger one; another seed draws others."""
    rows = some(200)
    smaller, larger = drawn(gallery_of(rows, 10)), drawn(gallery_of(rows, 50))
    assert (len(smaller), len(larger)) == (10, 50)
    assert smaller < larger
    assert drawn(gallery_of(rows, 10, seed=1)) != smaller


@pytest.mark.full
def test_every_pair_has_the_same_chance() -> None:
    """Over many seeds, each of twenty pairs is drawn about equally often."""
    rows = some(20)
    counts = [0] * 20
    ids = [pair_of(row)[0].id for row in rows]
    for seed in range(400):
        for identity in drawn(gallery_of(rows, 5, seed)):
            counts[ids.index(identity)] += 1
    assert sum(counts) == 2000
    assert all(60 <= count <= 140 for count in counts)


def test_extremes_are_included() -> None:
    """The narrowest gaps and the most uneven lengths are included, with the reason."""
    rows = [*some(300), {"prompt": "Q", "chosen": "a" * 900, "rejected": "b"}]
    pairs = held(gallery_of(rows, 30))
    reasons = {why: [pair for pair in pairs if why in pair["why"]] for why in ("uneven", "narrow")}
    assert [len(of) for of in reasons.values()] == [20, 20]
    assert any(pair["chars"] == [1, 900, 1] for pair in reasons["uneven"])
    gaps = sorted(pair_of(row)[0].gap or 0.0 for row in some(300))
    assert sorted(pair["gap"] for pair in reasons["narrow"]) == gaps[:20]
    assert [pair["prompt"][0]["text"] for pair in pairs] == sorted(
        (pair["prompt"][0]["text"] for pair in pairs), key=lambda name: int(name[1:] or 999)
    ), "they stand in the order in which they came"


def test_where_all_are_held_none_is_extreme() -> None:
    """If all pairs are included, none is marked as extreme."""
    assert {tuple(pair["why"]) for pair in held(gallery_of(some(40), 40))} == {("drawn",)}


@pytest.mark.full
@pytest.mark.parametrize("sign", ["a", "\u4e2d", "<", "\x00"])
def test_a_page_has_its_size_whatever_texts_are_made_of(sign: str) -> None:
    """Long texts are cut until all fit the page's limit; short ones stay whole."""
    texts = ({"chosen": sign * 90_000, "rejected": f"no {place}"} for place in range(400))
    rows = [{"prompt": f"Q{place}", **text} for place, text in enumerate(texts)]
    gallery = gallery_of(rows, 400)
    assert len(gallery.data()) <= 16_000_000
    for pair in held(gallery):
        (chosen,), (rejected,) = pair["chosen"], pair["rejected"]
        assert rejected["text"].startswith("no ")
        assert chosen["cut"][1] + len(chosen["text"]) == 90_000


def test_unevenness() -> None:
    """Unevenness is the longer length divided by the shorter, whichever was chosen."""
    long, short = "a" * 30, "b" * 10
    for chosen, rejected in ((long, short), (short, long)):
        row = {"prompt": "Q", "chosen": chosen, "rejected": rejected}
        assert unevenness(pair_of(row)[0]) == 3.0
