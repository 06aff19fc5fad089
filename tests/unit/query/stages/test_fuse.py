from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidates import Candidates, Ranking, Retrieved
from helix_query.recall.stages.fuse import fuse_rankings
from helix_shared.artifacts.hits import Hits


def hits(pairs: Sequence[tuple[int, float]]) -> Hits:
    """A list of ordinals and scores, best first."""
    ordinals = np.array([ordinal for ordinal, _ in pairs], np.int64)
    return Hits(ordinals, np.array([score for _, score in pairs], np.float32))


def fused(*lists: tuple[str, Sequence[tuple[int, float]]], method: str, **constants: Any) -> Candidates:
    """Lists of channels, fused; every cosine is 0 unless `cosines` says otherwise."""
    exact = constants.pop("cosines", {})
    return fuse_rankings(
        Retrieved(tuple(Ranking(name, hits(pairs)) for name, pairs in lists), lexical_alone=not exact),
        cosines=lambda ordinals: np.array([exact.get(one, 0.0) for one in ordinals.tolist()], np.float32),
        method=method,  # type: ignore[arg-type] # one of the two
        **constants,
    )


def scores(found: Candidates) -> dict[int, float]:
    """Fused score by ordinal."""
    return dict(zip(found.ordinals.tolist(), found.fused.tolist(), strict=True))


ALIKE = {DENSE: 1.0, LEXICAL: 1.0}


def test_reciprocal_ranks_are_summed_with_rank_from_one() -> None:
    """Sum of 1 / (60 + rank): 7 is first and second, 8 second and first, 9 third in one list only."""
    first = (DENSE, [(7, 0.9), (8, 0.8), (9, 0.1)])
    second = (LEXICAL, [(8, 12.0), (7, 3.0)])
    found = scores(fused(first, second, method="rrf", weights=ALIKE, k=60))
    assert found == pytest.approx({7: 1 / 61 + 1 / 62, 8: 1 / 62 + 1 / 61, 9: 1 / 63})
    assert found[9] == pytest.approx(0.015873016)


def test_list_weights_scale_reciprocal_ranks() -> None:
    """Weight 2 at rank 1 and weight 1 at rank 2, k = 60: 2/61 + 1/62 = .0489159."""
    lists = (DENSE, [(1, 5.0)]), (LEXICAL, [(2, 9.0), (1, 8.0)])
    found = scores(fused(*lists, method="rrf", weights={DENSE: 2.0, LEXICAL: 1.0}))
    assert found[1] == pytest.approx(0.048915918, abs=1e-7)
    assert found[2] == pytest.approx(1 / 61)


def test_rank_bonuses_are_added_once_per_list() -> None:
    """+.05 at rank 1, +.02 at ranks 2 and 3, nothing at rank 4, in every list."""
    lists = (DENSE, [(1, 4.0), (2, 3.0), (3, 2.0), (4, 1.0)]), (LEXICAL, [(2, 1.0)])
    found = scores(fused(*lists, method="rrf", weights=ALIKE, k=60, rank_bonuses=(0.05, 0.02, 0.02)))
    assert found == pytest.approx(
        {
            1: 0.016393443 + 0.05,
            2: 0.016129032 + 0.02 + 0.016393443 + 0.05,
            3: 0.015873016 + 0.02,
            4: 0.015625,
        },
        abs=1e-7,
    )


def test_min_max_blends_normalised_scores() -> None:
    """Dense .8, .6, .4 become 1, .5, 0; lexical 10, 5 become 1, 0; weights .3 and .7."""
    dense, lexical = [(1, 0.8), (2, 0.6), (3, 0.4)], [(3, 10.0), (2, 5.0)]
    found = fused(
        (DENSE, dense),
        (LEXICAL, lexical),
        method="minmax",
        weights={DENSE: 0.3, LEXICAL: 0.7},
        lexical_limit=2,
        cosines=dict(dense),
    )
    assert scores(found) == pytest.approx({1: 0.3, 2: 0.15, 3: 0.7})


def test_a_lexical_list_that_holds_every_match_scales_from_zero() -> None:
    """Two matches of 10 and 8 with room for more: 1 and .8, not 1 and 0."""
    found = fused(
        (LEXICAL, [(1, 10.0), (2, 8.0)]), method="minmax", weights={DENSE: 0.3, LEXICAL: 0.7}, lexical_limit=3
    )
    assert scores(found) == pytest.approx({1: 1.0, 2: 0.8})


def test_equal_scores_normalise_to_one() -> None:
    """A list of one says its candidate was found, so it counts fully."""
    assert scores(fused(("entity", [(5, 2.5)]), method="minmax", weights={"entity": 0.7})) == {5: 1.0}


def test_best_comes_first_and_ties_go_by_ordinal() -> None:
    """Equal fused scores never depend on the order of the lists."""
    found = fused((DENSE, [(9, 1.0)]), (LEXICAL, [(4, 1.0)]), method="rrf", weights=ALIKE)
    assert found.ordinals.tolist() == [4, 9]


def test_lexical_only_candidates_enter_score_fusion_with_their_true_cosine() -> None:
    """Dense found 1 (.9) and 2 (.5); 3 came from BM25 alone but its cosine is .7, which is half way."""
    exact = {1: 0.9, 2: 0.5, 3: 0.7}
    retrieved = Retrieved(
        (Ranking(DENSE, hits([(1, 0.88), (2, 0.51)])), Ranking(LEXICAL, hits([(3, 8.0), (1, 4.0)])))
    )
    candidates = fuse_rankings(
        retrieved,
        cosines=lambda ordinals: np.array([exact[ordinal] for ordinal in ordinals.tolist()], np.float32),
        method="minmax",
        weights={DENSE: 0.3, LEXICAL: 0.7},
        lexical_limit=2,
    )
    found = dict(zip(candidates.ordinals.tolist(), candidates.fused.tolist(), strict=True))
    assert found == pytest.approx({3: 0.3 * 0.5 + 0.7, 1: 0.3, 2: 0.0})
    assert candidates.ordinals.tolist() == [3, 1, 2]
    assert candidates.cosine.tolist() == pytest.approx([0.7, 0.9, 0.5])
    assert [candidates.channels_of(place) for place in range(3)] == [(LEXICAL,), (DENSE, LEXICAL), (DENSE,)]


def test_nothing_found_is_an_empty_pool() -> None:
    """No candidates is an answer, not an error."""
    candidates = fuse_rankings(
        Retrieved((Ranking(DENSE, Hits.none()),)),
        cosines=lambda ordinals: np.zeros(len(ordinals), np.float32),
        method="minmax",
        weights={DENSE: 1.0, LEXICAL: 0.0},
    )
    assert len(candidates) == 0


def test_lists_in_other_words_weigh_their_own_in_score_fusion() -> None:
    """Dense .9, .5 -> 1, 0; BM25 4 alone -> 1; other words on dense .8, .6 -> 1, 0; weights 2, 2, 1 of 5."""
    exact = {1: 0.9, 2: 0.5}
    candidates = fuse_rankings(
        Retrieved(
            (
                Ranking(DENSE, hits([(1, 0.9), (2, 0.5)])),
                Ranking(LEXICAL, hits([(2, 4.0)])),
                Ranking(DENSE, hits([(2, 0.8), (1, 0.6)]), "I use"),
            )
        ),
        cosines=lambda ordinals: np.array([exact[ordinal] for ordinal in ordinals.tolist()], np.float32),
        method="minmax",
        weights={DENSE: 2.0, LEXICAL: 2.0},
        lexical_limit=1,
        rephrased_weight=1.0,
    )
    assert dict(zip(candidates.ordinals.tolist(), candidates.fused.tolist(), strict=True)) == pytest.approx(
        {1: 0.4, 2: 0.6}
    )
