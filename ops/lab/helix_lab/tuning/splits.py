"""Nested splits: the questions that choose the constants, and the questions that judge them.

A fold of a set is an evaluation set of its own without texts or judgements of the other questions, so the
training part cannot see what is held out. Where a set has as many tenants as folds or more, the questions of
a tenant stay together: they share one conversation, so a fold with some of them would be judged on memories
that the search has seen. Otherwise questions are dealt one by one.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from helix_lab.sets.data import EvaluationSet, Question
from helix_shared.errors import InvalidInputError

FEWEST_IN_A_FOLD: Final = 5
"""Least number of questions in a fold of a set."""


@dataclass(frozen=True, slots=True)
class Split:
    """One outer fold of every set: `held_out` judges, all the other questions are `training`."""

    training: tuple[EvaluationSet, ...]
    held_out: tuple[EvaluationSet, ...]


def outer_splits(sets: Sequence[EvaluationSet], *, folds: int, seed: int) -> list[Split]:
    """One split a fold; over all of them every question is held out once.

    Raises:
        InvalidInputError: a fold of a set would have fewer than `FEWEST_IN_A_FOLD` questions.
    """
    dealt = {one.name: folds_of(one, folds=folds, salt=f"outer {seed}") for one in sets}
    splits = []
    for number in range(folds):
        held_out = tuple(dealt[one.name][number] for one in sets)
        kept = zip(sets, held_out, strict=True)
        training = tuple(part_of(one, _without(one.questions, held.questions)) for one, held in kept)
        splits.append(Split(training, held_out))
    return splits


def inner_folds(training: Sequence[EvaluationSet], *, folds: int, seed: int) -> list[list[EvaluationSet]]:
    """By fold, its part of every set of `training`.

    Raises: as `outer_splits`.
    """
    dealt = [folds_of(one, folds=folds, salt=f"inner {seed}") for one in training]
    return [list(parts) for parts in zip(*dealt, strict=True)]


def folds_of(data: EvaluationSet, *, folds: int, salt: str) -> list[EvaluationSet]:
    """`folds` parts of about equal size; the same questions in any order give the same parts.

    Raises: as `outer_splits`.
    """
    groups: dict[str, list[Question]] = {}
    for question in data.questions:
        groups.setdefault(question.tenant, []).append(question)
    if len(groups) < folds:
        groups = {question.id: [question] for question in data.questions}
    dealt: list[list[Question]] = [[] for _ in range(folds)]
    for key in sorted(groups, key=lambda key: _hash(salt, data.name, key)):
        min(dealt, key=len).extend(groups[key])
    fewest = min(map(len, dealt))
    if fewest < FEWEST_IN_A_FOLD:
        reason = f"a fold of {folds} would have {fewest} questions, must have at least {FEWEST_IN_A_FOLD}"
        raise InvalidInputError(
            data.name, f"{reason}; leave the set out, or take fewer folds or more questions"
        )
    return [part_of(data, questions) for questions in dealt]


def part_of(data: EvaluationSet, questions: Sequence[Question]) -> EvaluationSet:
    """The set with these questions and their judgements alone, in the order of the set."""
    kept = {question.id for question in questions}
    return replace(
        data,
        questions=[question for question in data.questions if question.id in kept],
        relevant={name: judged for name, judged in data.relevant.items() if name in kept},
        stale={name: named for name, named in data.stale.items() if name in kept},
        sessions={name: named for name, named in data.sessions.items() if name in kept},
    )


def _without(questions: Sequence[Question], others: Sequence[Question]) -> list[Question]:
    out = {question.id for question in others}
    return [question for question in questions if question.id not in out]


def _hash(*parts: str) -> bytes:
    return hashlib.blake2b("\x1f".join(parts).encode(), digest_size=16).digest()
