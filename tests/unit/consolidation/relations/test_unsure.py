"""What a language model is asked about, and what its verdict may change: the rules keep the last word."""

from __future__ import annotations

import numpy as np
import pytest

from helix_consolidation.relations.statement import Statement
from helix_consolidation.relations.unsure import ODDS_FACTOR, with_verdict, without_verdict
from helix_shared.artifacts.relations.records import (
    RELATION,
    DecidedRelation,
    EvidenceNames,
    decoded,
    encoded,
)
from helix_shared.pairs.verdicts import NO_VERDICT, VERDICTS
from tests.unit.consolidation.relations.test_decide import decided
from tests.unit.consolidation.relations.test_decide import said as said_anywhere


def said(text: str, **values: object) -> Statement:
    """A statement of one session: there the model is less sure of updates."""
    return said_anywhere(text, session=1, **values)


ESTIMATE = said("The roof estimate that the carpenter sent is four thousand")
CHANGED = said("The carpenter changed the roof estimate to five thousand")


def relation(probability: float, *, closable: bool = False) -> DecidedRelation:
    """An unsure relation with more evidence than is kept."""
    evidence = {f"e{n}": n / 10 for n in range(1, 7)}
    return DecidedRelation(1, 0, "UPDATES", probability, 7, unsure=True, closable=closable, evidence=evidence)


def test_an_update_between_the_thresholds_is_unsure() -> None:
    """The rules permit closing it; only the probability does not reach."""
    found = decided(CHANGED, ESTIMATE, cosine=0.8)[0]
    assert (found.relation, found.closes, found.unsure, found.closable) == ("UPDATES", False, True, True)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (said("I love olives", speaker="Ana"), said("I hate olives now", speaker="Ben")),
        (ESTIMATE, said(CHANGED.text, speech_act="quotation")),
        (ESTIMATE, said(CHANGED.text, speech_act="hypothetical")),
        (ESTIMATE, said(CHANGED.text, speech_act="question")),
        (ESTIMATE, said(CHANGED.text, source_class="tool")),
        (said(ESTIMATE.text, source_class="document"), said(CHANGED.text, source_class="document")),
        (said("The offer QX-5512 is four thousand"), said("the offer QX-5519 is five thousand")),
        (ESTIMATE, said("Back to the old roof estimate of the carpenter, four thousand")),
    ],
)
def test_what_the_rules_refuse_is_not_asked_about(older: Statement, newer: Statement) -> None:
    """Two persons, quotations, dreams, questions, tools, documents, other identifiers, and returns."""
    assert not any(one.unsure for one in decided(newer, older, cosine=0.8).values())


@pytest.mark.parametrize("probability", [0.25, 0.4, 0.5, 0.74])
@pytest.mark.parametrize("verdict", VERDICTS)
def test_the_odds_move_by_one_factor_and_back(probability: float, verdict: str) -> None:
    """Another verdict, or none, starts from what the rules said, also after it was stored."""
    base = without_verdict(relation(probability))
    moved = with_verdict(base, verdict)
    odds = [one.probability / (1 - one.probability) for one in (base, moved)]
    assert odds[1] / odds[0] == pytest.approx(
        ODDS_FACTOR if verdict in ("replaces", "contradicts") else 1 / ODDS_FACTOR, rel=1e-3
    )
    names, record = EvidenceNames(), np.zeros(1, RELATION)
    record[0] = encoded(moved, names)
    stored = decoded(record[0], names.names)
    expected, found = np.zeros(1, RELATION), np.zeros(1, RELATION)
    for one in (NO_VERDICT, *VERDICTS):
        expected[0], found[0] = (
            encoded(with_verdict(base, one), names),
            encoded(with_verdict(stored, one), names),
        )
        assert found.tobytes() == expected.tobytes()


def test_only_a_permitted_replacement_closes() -> None:
    """And from the probability on that closes without a verdict."""
    assert with_verdict(relation(0.4, closable=True), "replaces").closes
    assert not with_verdict(relation(0.4), "replaces").closes
    assert not with_verdict(relation(0.2, closable=True), "replaces").closes
    assert not any(
        with_verdict(relation(0.7, closable=True), one).closes for one in VERDICTS if one != "replaces"
    )
