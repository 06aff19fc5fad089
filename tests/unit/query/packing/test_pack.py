from hypothesis import given
from hypothesis import strategies as st

from helix_query.recall.packing.entries import Entry, TokenCounter
from helix_query.recall.packing.pack import outside_in, pack_entries


def words(text: str) -> int:
    """A tokenizer that counts words."""
    return len(text.split())


def pieces(text: str) -> int:
    """A tokenizer that counts a whole differently from the sum of its parts."""
    return (len(text) + 2) // 3 + text.count("\n\n")


def entry(name: str, text: str) -> Entry:
    """One memory under a heading of three words with its citation."""
    return Entry(name, "2026-03-01, Ann", text, tokens=words(text))


def test_best_is_at_the_start_second_at_the_end_third_after_the_first() -> None:
    """Outside-in: the middle of a long context is read least."""
    assert outside_in([1, 2, 3, 4, 5]) == [1, 3, 5, 4, 2]
    assert outside_in([1, 2, 3, 4]) == [1, 3, 4, 2]
    assert outside_in([1]) == [1]
    assert outside_in([]) == []


def test_every_memory_is_headed_by_its_citation() -> None:
    """Citation [n] is the n-th in the order of the text."""
    packed = pack_entries(
        [entry("a", "first"), entry("b", "second"), entry("c", "third")],
        token_budget=99,
        counter=TokenCounter(words),
    )
    assert packed.memory_ids == ("a", "c", "b")
    assert packed.text == (
        "[1] 2026-03-01, Ann\nfirst\n\n[2] 2026-03-01, Ann\nthird\n\n[3] 2026-03-01, Ann\nsecond"
    )
    assert packed.tokens == 12


def test_a_memory_that_does_not_fit_is_passed_over_whole() -> None:
    """Three words of heading each: the long one is left out, the next one still fits."""
    entries = [entry("a", "one"), entry("b", "one two three four five"), entry("c", "one two")]
    packed = pack_entries(entries, token_budget=9, counter=TokenCounter(words))
    assert packed.memory_ids == ("a", "c")
    assert packed.tokens == 9


def test_a_budget_too_small_for_anything_packs_nothing() -> None:
    """Memories are whole or absent."""
    packed = pack_entries([entry("a", "one two three")], token_budget=2, counter=TokenCounter(words))
    assert (packed.text, packed.memory_ids, packed.tokens) == ("", (), 0)


@given(
    texts=st.lists(st.text(max_size=60), max_size=12),
    budget=st.integers(min_value=1, max_value=120),
)
def test_the_budget_is_never_exceeded(texts: list[str], budget: int) -> None:
    """For any texts and any tokenizer, the finished text fits and its token count is right."""
    entries = [entry(str(number), text) for number, text in enumerate(texts)]
    for count in (words, pieces):
        packed = pack_entries(entries, token_budget=budget, counter=TokenCounter(count))
        assert packed.tokens <= budget
        assert packed.tokens == count(packed.text)
        assert len(set(packed.memory_ids)) == len(packed.memory_ids)
        for memory_id in packed.memory_ids:
            assert texts[int(memory_id)] in packed.text
