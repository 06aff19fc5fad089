import numpy as np

from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidates import Ranking, Retrieved
from helix_query.recall.stages.fuse import fuse_rankings
from helix_shared.artifacts.hits import Hits


def hits(ordinals: list[int], scores: list[float]) -> Hits:
    """Hits as a channel gives them."""
    return Hits(np.array(ordinals, np.int64), np.array(scores, np.float32))


def test_term_coverage_adds_candidates_that_are_not_fused() -> None:
    """7 is found by its coverage alone: fused score 0 and its exact cosine."""
    retrieved = Retrieved(
        (
            Ranking(DENSE, hits([3, 5], [0.9, 0.4])),
            Ranking(LEXICAL, hits([5], [4.0])),
        ),
        term_coverage=hits([7, 5], [1.0, 0.6]),
    )
    cosines = {3: 0.9, 5: 0.4, 7: 0.2}
    candidates = fuse_rankings(
        retrieved,
        cosines=lambda ordinals: np.array([cosines[n] for n in ordinals.tolist()], np.float32),
        method="minmax",
        weights={"dense": 0.5, "lexical": 0.5},
    )
    at = {ordinal: place for place, ordinal in enumerate(candidates.ordinals.tolist())}
    assert set(at) == {3, 5, 7}
    assert candidates.coverage is not None
    assert [round(float(candidates.coverage[at[n]]), 3) for n in (3, 5, 7)] == [0.0, 0.6, 1.0]
    assert candidates.fused[at[7]] == 0.0
    assert round(float(candidates.cosine[at[7]]), 3) == 0.2


def test_phrase_matches_add_candidates_beside_term_coverage() -> None:
    """9 is a phrase match alone, 7 is found by both; neither is fused."""
    retrieved = Retrieved(
        (
            Ranking(DENSE, hits([3, 5], [0.9, 0.4])),
            Ranking(LEXICAL, hits([5], [4.0])),
        ),
        term_coverage=hits([7, 5], [1.0, 0.6]),
        phrase_match=hits([9, 7], [20.0, 10.0]),
    )
    candidates = fuse_rankings(
        retrieved,
        cosines=lambda ordinals: (ordinals / 10).astype(np.float32),
        method="minmax",
        weights={"dense": 0.5, "lexical": 0.5},
    )
    at = {ordinal: place for place, ordinal in enumerate(candidates.ordinals.tolist())}
    assert candidates.phrase_match is not None
    assert candidates.coverage is not None
    assert [bool(candidates.phrase_match[at[n]]) for n in (3, 5, 7, 9)] == [False, False, True, True]
    assert [round(float(candidates.coverage[at[n]]), 3) for n in (3, 5, 7, 9)] == [0.0, 0.6, 1.0, 0.0]
    assert [float(candidates.fused[at[n]]) for n in (7, 9)] == [0.0, 0.0]
