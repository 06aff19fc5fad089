"""Fits the adapter of one tenant to its feedback; refuses what is not shown to help (ops/decisions/0064)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from rich.console import Console
from rich.table import Table

from helix_lab.query_adapter.feedback import AskedQuestion, Erased
from helix_lab.query_adapter.fit import fit
from helix_lab.query_adapter.held_out import JUDGED, SHOWN, Comparison, chosen_size, compared, held_out
from helix_lab.query_adapter.observations import Observation
from helix_lab.query_adapter.tenant import TenantCorpus, TenantQuestion
from helix_shared.artifacts.learned_adapters import HeldOut, LearnedCard
from helix_shared.encoders.query_adapter import QueryAdapter
from helix_shared.errors import InvalidInputError

STEPS: Final = 60
"""Steps of a fit of a tenant."""
FEWEST_QUESTIONS: Final = 60
"""Questions with a helpful memory that a fit needs."""
MOST_QUESTIONS: Final = 2_000
"""Questions that a fit takes, the newest."""
ELSEWHERE: Final = 200
"""Predicted questions of memories of the tenant, which must not become worse."""
BEARABLE: Final = -0.02
"""Mean change of their R@10 below which a fit is refused."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A fitted adapter and what is known of it."""

    adapter: QueryAdapter
    card: LearnedCard
    """Without number and checksums, which publishing gives it."""
    memories: frozenset[str]
    """Ids of the memories that it was fitted with."""

    def is_asked_by_erased(self, erased: Erased) -> bool:
        """Whether one of its users or sessions was erased after the first question of theirs."""
        users, sessions = self.card.askers.items(), self.card.sessions.items()
        return any(erased.users.get(name, 0) > first for name, first in users) or any(
            erased.sessions.get(name, 0) > first for name, first in sessions
        )


def learn(corpus: TenantCorpus, asked: Sequence[AskedQuestion], console: Console) -> Learned:
    """The adapter of the tenant's questions; prints what it is worth on questions left out.

    Raises:
        InvalidInputError: there are fewer than `FEWEST_QUESTIONS` different questions whose answers can be
            recalled, or recalls of questions left out are not shown to become better, or those of predicted
            ones become worse.
    """
    questions = [one for one in map(corpus.question, asked) if one is not None]
    require_enough(corpus.tenant_id, [one.asked for one in questions], in_the_log=len(asked))
    fit_to = partial(_fit, corpus)
    own = held_out(corpus, questions, fit_to)
    adapter = fit_to([one.seen for one in questions], chosen_size(questions, fit_to))
    predicted = corpus.predicted(most=ELSEWHERE)
    others = [one for one in map(corpus.question, predicted) if one is not None]
    elsewhere = compared(corpus, others, adapter) if others else None
    console.print(_table(corpus.tenant_id, own, elsewhere))
    refuse_harm(own, elsewhere)
    return Learned(adapter, _card(corpus, questions, own), _memories(questions))


def require_enough(tenant_id: str, questions: Sequence[AskedQuestion], *, in_the_log: int) -> None:
    """Refuse what is too little to learn from; one text of many callers is one question.

    Raises:
        InvalidInputError: there are fewer than `FEWEST_QUESTIONS` different questions.
    """
    count = len({one.text.casefold() for one in questions})
    if count < FEWEST_QUESTIONS:
        raise InvalidInputError(
            "feedback",
            f"of {tenant_id} has {count} questions whose helpful memories can be recalled ({in_the_log} in "
            f"the log), a fit needs {FEWEST_QUESTIONS} different ones: "
            "publish feedback with `query` and `helpful`",
        )


def _fit(
    corpus: TenantCorpus, seen: Sequence[Observation], size: float, *, with_states: bool = True
) -> QueryAdapter:
    start = corpus.package
    return fit(
        start.encoder, start.projection, seen, start=start, steps=STEPS, size=size, with_states=with_states
    )


def refuse_harm(own: Comparison, elsewhere: Comparison | None) -> None:
    """Refuse a fit whose interval does not exclude harm, or that makes predicted questions worse.

    Raises:
        InvalidInputError: it is so.
    """
    change = own.change[JUDGED]
    if change.low <= 0:
        raise InvalidInputError(
            "feedback",
            f"is not shown to help: {JUDGED} of questions left out changes by {100 * change.difference:+.1f} "
            f"points, 95 % interval {100 * change.low:+.1f} to {100 * change.high:+.1f}; nothing was written",
        )
    if elsewhere is not None and elsewhere.change["R@10"].difference < BEARABLE:
        other = elsewhere.change["R@10"]
        raise InvalidInputError(
            "feedback",
            f"does harm elsewhere: R@10 of predicted questions changes by "
            f"{100 * other.difference:+.1f} points, 95 % interval {100 * other.low:+.1f} to "
            f"{100 * other.high:+.1f}; at most {-100 * BEARABLE:g} points are allowed; nothing was written",
        )


def _card(corpus: TenantCorpus, questions: Sequence[TenantQuestion], own: Comparison) -> LearnedCard:
    askers: dict[str, int] = {}
    sessions: dict[str, int] = {}
    for asked in sorted((one.asked for one in questions), key=lambda one: one.first):
        if asked.user_id:
            askers.setdefault(asked.user_id, asked.first)
        for session, sequence in asked.sessions:
            sessions[session] = min(sequence, sessions.get(session, sequence))
    shown = {
        metric: HeldOut(
            before=own.before[metric],
            after=own.after[metric],
            low=own.change[metric].low,
            high=own.change[metric].high,
        )
        for metric in SHOWN
    }
    return LearnedCard(
        tenant_id=corpus.tenant_id,
        number=1,
        encoder=corpus.package.encoder,
        adapter="0" * 64,
        memories="0" * 64,
        fitted_at=corpus.clock,
        generation=corpus.snapshot.number,
        questions=len(questions),
        held_out=shown,
        askers=askers,
        sessions=sessions,
    )


def _memories(questions: Sequence[TenantQuestion]) -> frozenset[str]:
    return frozenset().union(*(one.memories for one in questions))


def _table(tenant_id: str, own: Comparison, elsewhere: Comparison | None) -> Table:
    table = Table(
        title=f"whole recalls of {tenant_id}, percent: adapter of the package, own adapter; change with its "
        "95 % interval. Own questions: by adapters fitted without them",
        title_justify="left",
    )
    for title in ("questions", "n", "metric", "package", "own", "change"):
        table.add_column(title, justify="left" if title in ("questions", "metric") else "right")
    compared_questions = {"own, left out": own}
    if elsewhere is not None:
        compared_questions["predicted questions"] = elsewhere
    for name, found in compared_questions.items():
        for metric in SHOWN:
            change = found.change[metric]
            interval = f"{100 * change.difference:+.1f} [{100 * change.low:+.1f}, {100 * change.high:+.1f}]"
            before, after = (f"{100 * one[metric]:.1f}" for one in (found.before, found.after))
            table.add_row(name, str(found.questions), metric, before, after, interval)
    return table
