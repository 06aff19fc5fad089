import numpy as np

from helix_query.recall.stages.latest_statement import latest_statement


def test_the_latest_statement_of_the_value_leads() -> None:
    """Three state it (.9 and .8 of the words, at least .8 of the best); time decides among them alone."""
    gains = latest_statement(
        np.array([1.0, 0.2, 0.9, 0.1]),
        np.array([0.9, 0.8, 0.1, 0.9]),
        np.array([30, 20, 99, 40]),
        min_coverage=0.8,
        min_text_coverage=0.5,
        min_score=0.0,
    )
    assert gains.tolist() == [4.0, 2.0, 0.0, 6.0]


def test_no_memory_states_it_if_all_hold_few_of_the_words() -> None:
    """Below the floor the order of relevance stays."""
    gains = latest_statement(
        np.array([1.0, 0.5]),
        np.array([0.3, 0.4]),
        np.array([1, 2]),
        min_coverage=0.8,
        min_text_coverage=0.5,
        min_score=0.0,
    )
    assert gains.tolist() == [0.0, 0.0]


def test_chatter_that_repeats_the_words_gains_nothing() -> None:
    """It contains all the words and is the latest, but has no other relevance."""
    gains = latest_statement(
        np.array([1.0, 0.1]),
        np.array([1.0, 1.0]),
        np.array([1, 2]),
        min_coverage=0.8,
        min_text_coverage=0.5,
        min_score=0.3,
    )
    assert gains.tolist() == [2.0, 0.0]


def test_a_later_statement_leads_however_little_it_scores() -> None:
    """The best score on the older one never makes up for a step of time."""
    scores = np.array([1.0, 0.0])
    gains = latest_statement(
        scores, np.array([1.0, 1.0]), np.array([1, 2]), min_coverage=0.8, min_text_coverage=0.5, min_score=0.0
    )
    assert (scores + gains).argmax() == 1


def test_statements_of_one_moment_keep_the_order_of_their_scores() -> None:
    """Equal times gain the same."""
    gains = latest_statement(
        np.array([0.4, 0.8]),
        np.array([1.0, 1.0]),
        np.array([7, 7]),
        min_coverage=0.8,
        min_text_coverage=0.5,
        min_score=0.0,
    )
    assert gains.tolist() == [1.6, 1.6]


def test_one_statement_alone_is_not_the_latest() -> None:
    """What changed it may say so in other words, so it keeps the place that its relevance gives it."""
    gains = latest_statement(
        np.array([1.0, 0.9, 0.8]),
        np.array([1.0, 1.0, 0.2]),
        np.array([7, 7, 9]),
        min_coverage=0.8,
        min_text_coverage=0.5,
        min_score=0.0,
        fewest=2,
    )
    assert gains.tolist() == [0.0, 0.0, 0.0]
