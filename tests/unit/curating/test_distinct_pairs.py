"""Pairs with different contents, the strongest of each."""

from run_stage import Held, row_of

from prefpairs.stages.pair_columns import DistinctPairs


def test_the_number_of_an_id_is_its_slot() -> None:
    """IDs, entries, strengths and opposites agree for thousands of pairs."""
    rows = [row_of(f"Q{number}", gap=number) for number in range(3000)]
    against = [row_of(f"Q{number}", "B", "A", gap=1) for number in range(0, 3000, 3)]
    copies = [row_of(f"Q{number}", gap=9000 - number) for number in range(0, 3000, 2)]
    held = Held([*rows, *against, *copies])
    distinct, entries = DistinctPairs(["prompt"], held), list(held.entries())
    assert sum(map(distinct.add, held.blocks())) == len(distinct) == 4000
    for slot, entry in enumerate(entries[:4000]):
        stays = entries[4000 + slot // 2] if slot < 3000 and slot % 2 == 0 else entry
        assert distinct.indexed(slot) == stays._replace(
            tools=b"", chosen=b"", rejected=b"", group=b""
        )
        assert distinct.strength(slot) == stays.strength()
    both = list(zip(range(0, 3000, 3), range(3000, 4000), strict=True))
    assert list(distinct.opposites()) == both + [(theirs, ours) for ours, theirs in both]


def test_what_stays_comes_as_it_arrived() -> None:
    """A pair that replaces a weaker one comes at its own position in the input."""
    held = Held([row_of("Q", gap=1), row_of("R", gap=1), row_of("Q", gap=2)])
    distinct = DistinctPairs([], held)
    for block in held.blocks():
        distinct.add(block)
    assert [list(block.numbers) for block in distinct.arrived([0, 1])] == [[2, 3]]
