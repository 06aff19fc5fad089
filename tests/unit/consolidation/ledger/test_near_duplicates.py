from __future__ import annotations

import random

import numpy as np
import pytest
from datasketch import MinHashLSH

from helix_consolidation.ledger.minhash_bands import (
    BANDS,
    ROWS_PER_BAND,
    THRESHOLD,
    estimated_jaccard,
    signatures_of,
)
from helix_consolidation.ledger.near_duplicates import (
    LONGEST_BUCKET,
    DuplicateMatch,
    DuplicateMatches,
    NearDuplicates,
)
from helix_consolidation.ledger.sequences import log_position
from tests.unit.consolidation.conftest import signature

TEXT = " ".join(f"word{n}" for n in range(40))
NEARLY = TEXT.replace("word39", "other")


def vector(text: str) -> np.ndarray:
    """Signature of a text."""
    return signatures_of([signature(text)])[0]


def test_the_estimate_is_the_share_of_equal_permutations() -> None:
    """Three of four values agree with the first, none with the second."""
    mine = np.array([1, 2, 3, 4], np.uint32)
    others = np.array([[1, 2, 3, 9], [5, 6, 7, 8]], np.uint32)
    assert estimated_jaccard(mine, others).tolist() == [0.75, 0.0]


def test_pairs_at_the_threshold_are_rarely_missed() -> None:
    """1 - (1 - .8^rows)^bands: with 10 bands of 6 rows 95 % of pairs at .8 are compared."""
    chosen = MinHashLSH(threshold=THRESHOLD, num_perm=64, weights=(0.05, 0.95))
    assert (chosen.b, chosen.r) == (BANDS, ROWS_PER_BAND)
    assert 1 - (1 - 0.8**ROWS_PER_BAND) ** BANDS > 0.95


def added(
    near: NearDuplicates, number: int, text: str, *, group: int = 7, content: int | None = None
) -> DuplicateMatches:
    """Index a text whose ordinal and log position are `number`."""
    return near.add(
        number, log_position(number, 0), group, number if content is None else content, vector(text)
    )


def test_a_nearly_equal_text_of_the_same_group_is_a_near_duplicate() -> None:
    """One word of forty differs; it is found after a bulk load and after a single add."""
    loaded, one_by_one = NearDuplicates(), NearDuplicates()
    first = np.array([0])
    loaded.load(first, log_position(first, first), np.array([7]), first, vector(TEXT)[None, :])
    added(one_by_one, 0, TEXT)
    expected = DuplicateMatch(0, float((vector(TEXT) == vector(NEARLY)).mean()))
    assert expected.jaccard >= 0.8
    assert added(loaded, 1, NEARLY) == DuplicateMatches([expected], [], set())
    assert added(one_by_one, 1, NEARLY) == DuplicateMatches([expected], [], set())


def test_a_late_memory_is_matched_with_later_ones() -> None:
    """The later of the log came first and becomes the duplicate."""
    near = NearDuplicates()
    added(near, 5, TEXT)
    place = added(near, 1, TEXT)
    assert place.earlier == []
    assert [later.ordinal for later in place.later] == [5]


def test_another_group_has_no_near_duplicate() -> None:
    """Tenant, owner, audience and type are in the group."""
    near = NearDuplicates()
    added(near, 0, TEXT)
    assert added(near, 1, TEXT, group=8).earlier == []


def test_a_different_text_is_no_near_duplicate() -> None:
    """No shared band, no match."""
    near = NearDuplicates()
    added(near, 0, TEXT)
    assert added(near, 1, "nothing in common with it").earlier == []


def test_equal_content_matches_with_any_signature() -> None:
    """The content hash ignores case and white space, the shingles may not."""
    near = NearDuplicates()
    added(near, 0, "alpha beta", content=1)
    assert added(near, 1, "gamma delta", content=1).earlier == [DuplicateMatch(0, 1.0)]


def test_texts_without_words_have_no_near_duplicates() -> None:
    """Their signatures are all equal and are not compared."""
    near = NearDuplicates()
    added(near, 0, "")
    assert added(near, 1, "").earlier == []


def test_an_erased_memory_is_no_near_duplicate() -> None:
    """Neither an erased memory nor an earlier version of a memory is found."""
    near = NearDuplicates()
    added(near, 0, TEXT)
    near.remove(0)
    assert added(near, 1, TEXT).earlier == []
    added(near, 1, "quite another text")
    assert added(near, 2, TEXT).earlier == []


@pytest.mark.parametrize("is_folded", [False, True])
def test_boilerplate_is_compared_with_the_first_copies_of_the_log(*, is_folded: bool) -> None:
    """In any order of arrival the first 32 are compared; displaced and promoted ones are returned."""
    near = NearDuplicates()
    for number in random.Random(1).sample(range(1, 101), 100):
        added(near, number, TEXT, content=1)
    if is_folded:
        near._fold_tail()
    place = added(near, 101, TEXT, content=1)
    assert place.earlier[0] == DuplicateMatch(1, 1.0)
    assert (place.later, place.displaced) == ([], set())
    assert near.matches(LONGEST_BUCKET).later[0].ordinal == LONGEST_BUCKET + 1
    first = added(near, 0, TEXT, content=1)
    assert len(first.later) == 101
    assert first.displaced == {LONGEST_BUCKET}
    assert near.remove(3) == {LONGEST_BUCKET}
