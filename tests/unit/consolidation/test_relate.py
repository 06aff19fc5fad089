from __future__ import annotations

import numpy as np

from helix_consolidation.relate import (
    LONGEST_BUCKET,
    NearDuplicates,
    Neighbour,
    bands,
    estimated_jaccard,
    signatures_of,
)

from .conftest import signature

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
    count, rows = bands()
    assert count * rows <= 64
    assert 1 - (1 - 0.8**rows) ** count > 0.95


def test_a_nearly_equal_text_of_the_same_group_is_a_neighbour() -> None:
    """One word of forty differs; the neighbour is found after a bulk load and after a single add."""
    loaded, added = NearDuplicates(), NearDuplicates()
    loaded.load(np.array([0]), np.array([7]), np.array([1]), vector(TEXT)[None, :])
    added.add(0, 7, 1, vector(TEXT))
    expected = [Neighbour(0, float((vector(TEXT) == vector(NEARLY)).mean()))]
    assert expected[0].jaccard >= 0.8
    assert loaded.add(1, 7, 2, vector(NEARLY)) == expected
    assert added.add(1, 7, 2, vector(NEARLY)) == expected


def test_another_group_never_sees_a_neighbour() -> None:
    """Tenant, owner, audience and type are in the group."""
    near = NearDuplicates()
    near.add(0, 7, 1, vector(TEXT))
    assert near.add(1, 8, 1, vector(TEXT)) == []


def test_a_different_text_is_no_neighbour() -> None:
    """Nothing in common, nothing found."""
    near = NearDuplicates()
    near.add(0, 7, 1, vector(TEXT))
    assert near.add(1, 7, 2, vector("nothing in common with it")) == []


def test_equal_content_is_equal_whatever_its_signature_says() -> None:
    """The content hash folds case and white space, the shingles may not."""
    near = NearDuplicates()
    near.add(0, 7, 1, vector("alpha beta"))
    assert near.add(1, 7, 1, vector("gamma delta")) == [Neighbour(0, 1.0)]


def test_texts_without_words_resemble_nothing() -> None:
    """Their signatures are all alike, and say nothing."""
    near = NearDuplicates()
    near.add(0, 7, 1, vector(""))
    assert near.add(1, 7, 2, vector("")) == []


def test_an_erased_memory_is_no_neighbour() -> None:
    """What was erased leaves no trace in the index."""
    near = NearDuplicates()
    near.add(0, 7, 1, vector(TEXT))
    near.forget(0)
    assert near.add(1, 7, 1, vector(TEXT)) == []


def test_boilerplate_is_compared_with_its_earliest_copies_only() -> None:
    """Of a hundred equal texts a newcomer sees the first ones."""
    near = NearDuplicates()
    for ordinal in range(100):
        near.add(ordinal, 7, 1, vector(TEXT))
    found = near.add(100, 7, 1, vector(TEXT))
    assert [n.ordinal for n in found] == list(range(LONGEST_BUCKET))
