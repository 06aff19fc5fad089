from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_query.recall.packing.entries import CountTokens, Entry, TokenCounter
from helix_query.recall.packing.neighbour_rows import VisibleStretch, _choose
from helix_query.recall.packing.neighbours import Neighbours, with_neighbours
from helix_query.recall.packing.pack import pack_entries
from helix_shared.encoders.store import default_model
from helix_shared.encoders.tokens import TextTokens


def words(text: str) -> int:
    """A tokenizer whose counts add up over white space."""
    return len(text.split())


def pieces(text: str) -> int:
    """A tokenizer that counts a whole differently from the sum of its parts."""
    return (len(text) + 2) // 3 + text.count("\n\n")


@pytest.fixture(scope="module")
def tokens(models_dir: Path) -> TextTokens:
    """The tokenizer of the default model."""
    return TextTokens.load(default_model(models_dir) / "tokenizer.json", max_tokens=256)


def entry(name: str, text: str, count: CountTokens = words) -> Entry:
    """One memory under a heading of two words."""
    return Entry(name, "2026-03-01, Ann", text, tokens=count(text))


def test_the_best_memory_is_surrounded_first() -> None:
    """Three words of mark and heading each: room for the neighbours of the first alone."""
    entries = [entry("a", "one"), entry("b", "two")]
    around = [
        Neighbours("a", entry("a-", "before"), entry("a+", "after")),
        Neighbours("b", entry("b-", "x"), entry("b+", "y")),
    ]
    counter = TokenCounter(words, adds_up=True)
    packed = pack_entries(entries, token_budget=16, counter=counter)
    result = with_neighbours(entries, packed, around, token_budget=16, counter=counter)
    assert result.memory_ids == ("a", "b")
    assert result.surrounding_ids == ("a-", "a+")
    assert result.tokens == 16
    assert result.text.split("\n\n") == [
        "[1-] 2026-03-01, Ann\nbefore",
        "[1] 2026-03-01, Ann\none",
        "[1+] 2026-03-01, Ann\nafter",
        "[2] 2026-03-01, Ann\ntwo",
    ]


def test_a_session_is_packed_whole_or_replaced_by_the_neighbours() -> None:
    """Four neighbours of four words each: 16 fit; with a budget of 15 only the two adjacent ones do."""
    memory = entry("m", "text")
    before, after = (entry("s0", "a"), entry("s1", "b")), (entry("s3", "c"), entry("s4", "d"))
    around = [Neighbours("m", before[-1], after[0], before, after)]
    for budget, expected in (
        (20, ("s0", "s1", "s3", "s4")),
        (19, ("s1", "s3")),
        (12, ("s1", "s3")),
        (11, ("s1",)),
        (7, ()),
    ):
        counter = TokenCounter(words, adds_up=True)
        packed = pack_entries([memory], token_budget=budget, counter=counter)
        assert (
            with_neighbours([memory], packed, around, token_budget=budget, counter=counter).surrounding_ids
            == expected
        )


@given(data=st.data(), budget=st.integers(min_value=1, max_value=200), adds_up=st.booleans())
def test_the_budget_holds_and_no_memory_is_dropped(
    data: st.DataObject, budget: int, *, adds_up: bool
) -> None:
    """For any neighbours and any tokenizer: exact count, within the budget, and the same memories."""
    texts = st.text(max_size=40)
    count = words if adds_up else pieces
    counter = TokenCounter(count, adds_up=adds_up)
    entries = [entry(str(n), text, count) for n, text in enumerate(data.draw(st.lists(texts, max_size=6)))]
    packed = pack_entries(entries, token_budget=budget, counter=counter)
    around = []
    for memory_id in packed.memory_ids:
        sides = data.draw(st.tuples(st.lists(texts, max_size=4), st.lists(texts, max_size=4)))
        before, after = (
            tuple(entry(f"{memory_id}{sign}{n}", text, count) for n, text in enumerate(side))
            for sign, side in zip("-+", sides, strict=True)
        )
        nearest = (before[-1] if before else None, after[0] if after else None)
        whole = data.draw(st.booleans())
        around.append(Neighbours(memory_id, *nearest, *((before, after) if whole else ((), ()))))
    result = with_neighbours(entries, packed, around, token_budget=budget, counter=counter)
    assert result.memory_ids == packed.memory_ids
    assert result.tokens == count(result.text) <= budget
    assert len(set(result.surrounding_ids)) == len(result.surrounding_ids)


@given(parts=st.lists(st.text(max_size=30), max_size=6))
def test_counts_of_the_default_model_add_up(tokens: TextTokens, parts: list[str]) -> None:
    """Packing counts parts instead of the whole; a whole joined by white space is their sum."""
    assert tokens.counts_add_up
    total = sum(tokens.count(part) for part in parts)
    for between in ("\n\n", " ", "\n"):
        assert tokens.count(between.join(parts)) == total


@pytest.mark.parametrize("text", ["\u0301e", "a\u0301", "[SEP]", "[CLS", "##ing", "\ud800", "\x00", "한"])
def test_counts_add_up_at_odd_boundaries(tokens: TextTokens, text: str) -> None:
    """Combining marks, special tokens, halves of a surrogate pair and syllables do not reach across."""
    assert tokens.count(f"{text}\n\n{text} {text}") == 3 * tokens.count(text)
    assert tokens.count(f"e\n{text}\n]") == tokens.count("e") + tokens.count(text) + tokens.count("]")


def test_another_kind_of_tokenizer_is_not_trusted_to_add_up(tmp_path: Path) -> None:
    """Its finished text is counted, as that of a byte-level tokenizer must be."""
    path = tmp_path / "tokenizer.json"
    path.write_text(
        '{"version": "1.0", "added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel",'
        ' "add_prefix_space": false, "trim_offsets": true, "use_regex": true}, "post_processor": null,'
        ' "decoder": null, "model": {"type": "WordLevel", "vocab": {"a": 0, "?": 1}, "unk_token": "?"}}'
    )
    assert not TextTokens.load(path, max_tokens=16).counts_add_up


def test_the_last_neighbour_that_may_be_read_is_the_one_that_is_there() -> None:
    """Of a memory that begins its session it is the one after it."""
    tokens = np.ones(9, np.int32)
    for before, after, expected in (([], [5], (None, 5)), ([4], [5], (4, None)), ([], [], (None, None))):
        stretch = VisibleStretch(before, after, is_whole=True)
        chosen = _choose("a" * 32, stretch, tokens, taken=set(), whole=False, room=9, limit=1)
        assert chosen.beside == expected
