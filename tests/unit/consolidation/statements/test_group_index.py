"""Candidates of a statement among the earlier ones of its group."""

from __future__ import annotations

import numpy as np

from helix_consolidation.statements.group_index import (
    DENSE_CANDIDATES,
    EXACT_CANDIDATES,
    LAST_STATEMENTS,
    LEXICAL_CANDIDATES,
    NEIGHBOUR_REACH,
    GroupIndex,
)
from helix_consolidation.statements.quantised import quantised
from helix_consolidation.statements.statement_row import StatementRow, words_of

DIMENSIONS = 64
EXAM = np.eye(DIMENSIONS, dtype=np.float32)[0]


def statement(number: int, text: str, vector: np.ndarray, *, session: int = 1) -> StatementRow:
    """The statement of an event of its own."""
    return StatementRow(
        1,
        1_000 + number,
        number,
        number + 1,
        number + 1,
        session,
        quantised(vector),
        words_of(text),
        b"",
        b"",
    )


def history(session_of: int) -> list[StatementRow]:
    """Forty statements about other things in sessions of `session_of`, the tenth about the exam."""
    random = np.random.default_rng(7)
    vectors = random.normal(size=(40, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[10] = EXAM
    texts = [f"word{number}" for number in range(40)]
    return [
        statement(n, texts[n], vectors[n], session=1 + n // session_of if session_of else 0)
        for n in range(40)
    ]


def candidates(rows: list[StatementRow], new: StatementRow) -> list[int]:
    """Numbers of the candidates of `new` among `rows`."""
    index = GroupIndex(range(len(rows)), rows)
    index.extend([len(rows)], [new])
    return [match.number for match in index.search(1)[0]]


def test_what_was_said_beside_the_nearest_is_a_candidate_too() -> None:
    """In its session alone; "moved to 10 May" stands beside the turn that names the exam."""
    new = statement(40, "exam", EXAM, session=99)
    together = candidates(history(5), new)
    assert {10, 11, 12} <= set(together)
    apart = candidates(history(1), new)
    assert set(apart) < set(together)
    without = candidates(history(0), new)
    assert without == apart


def test_the_last_statements_are_candidates_whatever_they_say() -> None:
    """Candidates are in the order of the log, and their number is bounded."""
    found = candidates(history(5), statement(40, "he's done", EXAM, session=99))
    assert set(range(40 - LAST_STATEMENTS, 40)) <= set(found)
    assert found == sorted(set(found))
    assert (
        len(found)
        <= DENSE_CANDIDATES
        + LEXICAL_CANDIDATES
        + EXACT_CANDIDATES
        + LAST_STATEMENTS
        + (6 + 3) * 2 * NEIGHBOUR_REACH
    )


def test_statements_of_one_event_are_no_candidates_of_each_other() -> None:
    """Also where they are the last ones."""
    rows = history(5)
    twin = statement(40, "exam", EXAM)
    index = GroupIndex(range(40), rows)
    index.extend([40, 41], [twin, twin])
    assert all(match.number < 40 for found in index.search(2) for match in found)
