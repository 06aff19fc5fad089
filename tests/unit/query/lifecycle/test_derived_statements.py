"""A statement that was derived from a turn takes its place."""

import numpy as np

from helix_query.recall.lifecycle.derived_statements import replaced_turns


def pairs(codes: list[int], derived: list[bool], scores: list[float]) -> list[tuple[int, int]]:
    """Turn and statement by row."""
    turns, statements = replaced_turns(np.array(codes), np.array(derived, bool), np.array(scores))
    return list(zip(turns.tolist(), statements.tolist(), strict=True))


def test_the_best_derived_statement_replaces_its_turn() -> None:
    """Of two statements of turn 7 the better one; turn 8 has none, statement 9 no turn here."""
    codes, derived = [7, 7, 8, 7, 9], [False, True, False, True, True]
    assert pairs(codes, derived, [0.9, 0.2, 0.8, 0.5, 0.7]) == [(0, 3)]


def test_of_equal_statements_the_first_replaces_the_turn() -> None:
    """So that the order does not hang on a sort."""
    assert pairs([5, 5, 5], [True, True, False], [0.4, 0.4, 0.1]) == [(2, 0)]


def test_without_derived_statements_nothing_is_replaced() -> None:
    """Also without any row."""
    assert pairs([1, 2], [False, False], [0.5, 0.4]) == []
    assert pairs([], [], []) == []
    assert pairs([1, 1], [True, True], [0.5, 0.4]) == []
