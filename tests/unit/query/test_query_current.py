from datetime import UTC, datetime

import numpy as np

from helix_query.recall.candidates import COVERING, DENSE, LEXICAL, QUOTED, Ranking, Retrieved
from helix_query.recall.routing.strip_times import strip_times
from helix_query.recall.stages import rank as stage
from helix_query.recall.stages.fuse import fuse
from helix_shared.artifacts.hits import Hits

NOW = datetime(2026, 3, 1, tzinfo=UTC)


def hits(ordinals: list[int], scores: list[float]) -> Hits:
    """Hits as a channel gives them."""
    return Hits(np.array(ordinals, np.int64), np.array(scores, np.float32))


def test_the_latest_statement_of_the_value_leads() -> None:
    """Three state it (.9 and .8 of the words, at least .8 of the best); time decides among them alone."""
    gains = stage.latest_statement(
        np.array([1.0, 0.2, 0.9, 0.1]),
        np.array([0.9, 0.8, 0.1, 0.9]),
        np.array([30, 20, 99, 40]),
        cover=0.8,
        floor=0.5,
        relevant=0.0,
    )
    assert gains.tolist() == [4.0, 2.0, 0.0, 6.0]


def test_nobody_states_it_where_all_hold_few_of_the_words() -> None:
    """Below the floor the order of relevance stays."""
    gains = stage.latest_statement(
        np.array([1.0, 0.5]), np.array([0.3, 0.4]), np.array([1, 2]), cover=0.8, floor=0.5, relevant=0.0
    )
    assert gains.tolist() == [0.0, 0.0]


def test_chatter_that_repeats_the_words_gains_nothing() -> None:
    """It covers them all and is the latest, but nothing else speaks for it."""
    gains = stage.latest_statement(
        np.array([1.0, 0.1]), np.array([1.0, 1.0]), np.array([1, 2]), cover=0.8, floor=0.5, relevant=0.3
    )
    assert gains.tolist() == [2.0, 0.0]


def test_a_later_statement_leads_however_little_it_scores() -> None:
    """The best score on the older one never makes up for a step of time."""
    scores = np.array([1.0, 0.0])
    gains = stage.latest_statement(
        scores, np.array([1.0, 1.0]), np.array([1, 2]), cover=0.8, floor=0.5, relevant=0.0
    )
    assert (scores + gains).argmax() == 1


def test_statements_of_one_moment_keep_the_order_of_their_scores() -> None:
    """Equal times gain the same."""
    gains = stage.latest_statement(
        np.array([0.4, 0.8]), np.array([1.0, 1.0]), np.array([7, 7]), cover=0.8, floor=0.5, relevant=0.0
    )
    assert gains.tolist() == [1.6, 1.6]


def test_who_covers_the_words_joins_the_pool_without_a_vote_in_the_fusion() -> None:
    """7 is found by that list alone: fused score 0, its true cosine, and its coverage."""
    retrieved = Retrieved(
        (
            Ranking(DENSE, hits([3, 5], [0.9, 0.4])),
            Ranking(LEXICAL, hits([5], [4.0])),
            Ranking(LEXICAL, hits([7, 5], [1.0, 0.6]), COVERING),
        )
    )
    cosines = {3: 0.9, 5: 0.4, 7: 0.2}
    pool = fuse(
        retrieved,
        cosines=lambda ordinals: np.array([cosines[n] for n in ordinals.tolist()], np.float32),
        method="minmax",
        weights={"dense": 0.5, "lexical": 0.5},
    )
    at = {ordinal: place for place, ordinal in enumerate(pool.ordinals.tolist())}
    assert set(at) == {3, 5, 7}
    assert pool.coverage is not None
    assert [round(float(pool.coverage[at[n]]), 3) for n in (3, 5, 7)] == [0.0, 0.6, 1.0]
    assert pool.fused[at[7]] == 0.0
    assert round(float(pool.cosine[at[7]]), 3) == 0.2


def test_who_holds_the_very_words_joins_the_pool_beside_who_covers_them() -> None:
    """9 is found by its words in a row alone, 7 by both lists; neither has a vote in the fusion."""
    retrieved = Retrieved(
        (
            Ranking(DENSE, hits([3, 5], [0.9, 0.4])),
            Ranking(LEXICAL, hits([5], [4.0])),
            Ranking(LEXICAL, hits([7, 5], [1.0, 0.6]), COVERING),
            Ranking(LEXICAL, hits([9, 7], [20.0, 10.0]), QUOTED),
        )
    )
    pool = fuse(
        retrieved,
        cosines=lambda ordinals: (ordinals / 10).astype(np.float32),
        method="minmax",
        weights={"dense": 0.5, "lexical": 0.5},
    )
    at = {ordinal: place for place, ordinal in enumerate(pool.ordinals.tolist())}
    assert pool.quoted is not None
    assert pool.coverage is not None
    assert [bool(pool.quoted[at[n]]) for n in (3, 5, 7, 9)] == [False, False, True, True]
    assert [round(float(pool.coverage[at[n]]), 3) for n in (3, 5, 7, 9)] == [0.0, 0.6, 1.0, 0.0]
    assert [float(pool.fused[at[n]]) for n in (7, 9)] == [0.0, 0.0]


def test_the_time_a_question_names_is_not_what_it_is_about() -> None:
    """Memories need not say "October"."""
    assert strip_times("Which port did we use in October 2023?", NOW).split() == [
        "Which", "port", "did", "we", "use", "in", "?",
    ]  # fmt: skip
    assert strip_times("October 2023", NOW) == "October 2023"
