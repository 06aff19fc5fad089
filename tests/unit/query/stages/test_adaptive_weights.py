import math

import numpy as np
import pytest

from helix_query.recall.stages.adaptive_weights import dense_share, features
from helix_shared.artifacts.hits import Hits

ORDINALS = np.array([2, 5, 7, 9], np.int64)
COSINES = np.array([0.1, 0.7, 0.3, 0.5], np.float32)
LEXICAL = Hits(np.array([9, 5], np.int64), np.array([10.0, 5.0], np.float32))


def seen(lexical: Hits = LEXICAL, *, coverage: float = 0.75) -> dict[str, float]:
    """Features of four candidates, two of them code."""
    return features(
        lexical,
        ORDINALS,
        COSINES,
        coverage=coverage,
        rarest_held=0.4,
        is_code=np.array([True, False, True, False]),
        tokens=np.array([10, 20, 30, 40], np.int32),
        words=3,
        has_exact_tokens=True,
        is_exact_lookup=False,
        sequences=ORDINALS,
    )


def test_features_are_worked_out_from_the_two_lists() -> None:
    """By hand: ln(.75 / .25), (10 - 5) / 10, .7 - .1, two of ten places shared, log(26) / 6."""
    expected = {
        "words": math.log(4),
        "exact_tokens": 1.0,
        "exact_lookup": 0.0,
        "coverage": math.log(3),
        "rarest_held": 0.4,
        "lexical_drop": 0.5,
        "cosine_drop": 0.6,
        "agreement": 0.2,
        "code": 0.5,
        "length": math.log(26) / 6,
    }
    assert seen() == pytest.approx(expected)


def test_nothing_found_by_words_is_no_error() -> None:
    """A question of function words alone has an empty lexical list."""
    found = seen(Hits.none(), coverage=0.0)
    assert (found["lexical_drop"], found["agreement"]) == (0.0, 0.0)
    assert found["coverage"] == pytest.approx(math.log(0.05 / 0.95))


@pytest.mark.parametrize(("coverage", "share"), [(0.0, 0.95), (0.2, 0.8), (0.75, 0.25), (1.0, 0.05)])
def test_by_coverage_alone_the_share_is_what_is_not_covered(coverage: float, share: float) -> None:
    """The coefficient -1 without an intercept; a channel never gets less than .05."""
    found = seen(coverage=coverage)
    assert dense_share(found, intercept=0.0, coefficients={"coverage": -1.0}) == pytest.approx(share)


def test_the_height_of_bm25_scores_does_not_count() -> None:
    """A larger tenant has rarer words, so that all its scores are higher."""
    higher = Hits(LEXICAL.ordinals, LEXICAL.scores * np.float32(3.0))
    assert seen(higher) == pytest.approx(seen())


def test_the_share_is_the_sigmoid_of_the_sum() -> None:
    """-1 + 2 x .5 = 0 gives one half; +-30 is where it ends."""
    assert dense_share({"code": 0.5}, intercept=-1.0, coefficients={"code": 2.0}) == 0.5
    assert dense_share({"code": 1.0}, intercept=0.0, coefficients={"code": 1.0}) == pytest.approx(0.7310586)
    assert dense_share({"code": 1.0}, intercept=-500.0, coefficients={"code": 1.0}) == pytest.approx(0.0)
