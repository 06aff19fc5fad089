"""The lab's side of relations: labels, figures and the written model."""

import tomllib
from collections import Counter
from datetime import datetime

import numpy as np
import pytest

from helix_consolidation.relations.model import RelationModel, shipped_model
from helix_lab.relations import labelled as labels
from helix_lab.relations.fitting import Observations, fitted, model_text
from helix_lab.relations.judging import area_under_curve, precision_at
from helix_lab.sets.data import Document, EvaluationSet
from helix_lab.sets.months.timeline import RELATIONS, Relation, Timeline, Turn
from helix_shared.errors import CorruptArtifactError

THRESHOLDS = {"link": 0.1, "relate": 0.5, "repeat": 0.5, "close": 0.6}


def test_the_gold_pairs_hold_every_class() -> None:
    """At least two hundred, and none of a class that is not known."""
    classes = Counter(labels.pairs().classes.values())
    assert sum(classes.values()) >= 200
    assert set(classes) == {*labels.CLASSES, labels.REVIVED}


@pytest.mark.parametrize(("told", "updates"), [(labels.stories(), 200), (labels.months(), 1_500)])
def test_timelines_label_pairs_of_one_tenant_in_their_order(told: labels.LabelledSet, updates: int) -> None:
    """Hundreds are updates, and values return."""
    order = {document.id: at for at, document in enumerate(told.data.documents)}
    tenant = {document.id: document.tenant for document in told.data.documents}
    assert all(order[older] < order[newer] for older, newer in told.classes)
    assert all(tenant[older] == tenant[newer] for older, newer in told.classes)
    counts = Counter(told.classes.values())
    assert counts[labels.UPDATE] > updates
    assert min(counts[labels.REVERSAL], counts[labels.REVIVED], counts[labels.UNJUDGED]) > 10


def test_the_values_of_a_timeline_label_its_pairs() -> None:
    """A relation given as such goes first, and of two slots the one that changes."""
    stated = [
        {"bus": "4", "gate": "a"},
        {"bus": "7", "gate": "a"},
        {"bus": "9?"},
        {"bus": "7"},
        {"bus": "4"},
        {},
        {"gate": "a"},
    ]
    turns = [
        Turn(str(at), "s", datetime(2025, 1, 1 + at), "user", "", values)  # noqa: DTZ001 - as in the files
        for at, values in enumerate(stated)
    ]
    said = [Relation("4", "5", "extends"), Relation("0", "6", "looks-like")]
    found = labels.labelled_timelines("t", [Timeline("t", turns, said)]).classes
    assert found == {
        ("0", "1"): labels.UPDATE,
        ("0", "2"): labels.UNJUDGED,
        ("1", "2"): labels.UNJUDGED,
        ("0", "3"): labels.UPDATE,
        ("1", "3"): labels.RESTATEMENT,
        ("2", "3"): labels.UNJUDGED,
        ("0", "4"): labels.REVIVED,
        ("1", "4"): labels.REVERSAL,
        ("2", "4"): labels.UNJUDGED,
        ("3", "4"): labels.REVERSAL,
        ("4", "5"): labels.EXTENSION,
        ("0", "6"): labels.LOOK_ALIKE,
        ("1", "6"): labels.RESTATEMENT,
    }


def test_every_relation_of_a_timeline_has_a_class() -> None:
    """None that the reader takes is unknown to the labels."""
    turns = [Turn(name, "s", datetime.min, "user", "", {}) for name in "ab"]  # noqa: DTZ901 - any moment
    for kind in RELATIONS:
        told = Timeline("t", turns, [Relation("a", "b", kind)])
        assert set(labels.labelled_timelines("t", [told]).classes.values()) <= set(labels.CLASSES)


def test_outdated_documents_pair_with_the_later_answer() -> None:
    """Two outdated ones are unjudged; an answer told before is no update."""
    documents = [Document(name, name, "", "", "", "user", "t") for name in "abcd"]
    data = EvaluationSet("x", documents, [], {"q": {"c": 2.0, "d": 1.0}}, stale={"q": {"a", "b"}})
    found = labels.of_set(data).classes
    assert found["a", "c"] == found["b", "c"] == labels.UPDATE
    assert found["a", "b"] == found["a", "d"] == labels.UNJUDGED


def test_area_and_precision_of_a_known_order() -> None:
    """Two true ones at places one and three."""
    scores, truth = np.array([0.9, 0.8, 0.7, 0.1]), np.array([True, False, True, False])
    assert area_under_curve(scores, truth) == pytest.approx(0.75)
    assert precision_at(scores, truth, 0.5, 2) == 1.0
    assert precision_at(scores, truth, 1.0, 2) == pytest.approx(2 / 3)
    assert precision_at(scores, truth, 1.0, 3) == 0.0


def observed(rows: np.ndarray, classes: np.ndarray, values_only: np.ndarray) -> Observations:
    """Pairs of one group with these features and classes."""
    groups, pairs = np.full(len(rows), "g", dtype=object), [("a", str(n)) for n in range(len(rows))]
    return Observations(rows, classes, groups, pairs, values_only)


def test_a_fitted_model_is_written_and_read_back() -> None:
    """It tells updates by the feature that differs."""
    random = np.random.default_rng(7)
    rows = random.normal(size=(400, len(shipped_model().coefficients)))
    classes = np.array(["update" if row[0] > 0.5 else "" for row in rows], dtype=object)
    model = fitted(observed(rows, classes, np.zeros(400, bool)), **THRESHOLDS)
    again = RelationModel.of(tomllib.loads(model_text(model, "# head")))
    chances = again.probabilities(rows)[:, 1]
    assert np.allclose(chances, model.probabilities(rows)[:, 1], atol=0.01)
    assert area_under_curve(chances, classes == "update") > 0.99


def test_pairs_labelled_by_values_fit_updates_alone() -> None:
    """Whether a statement repeats another is not known of them."""
    rows = np.random.default_rng(7).normal(size=(400, len(shipped_model().coefficients)))
    classes = np.array(["restatement" if row[0] > 0.5 else "" for row in rows], dtype=object)
    classes[rows[:, 1] > 1.0] = "update"
    by_values = np.arange(400) >= 100
    seen = observed(rows, classes, by_values)
    both, alone = fitted(seen, **THRESHOLDS), fitted(seen.where(~by_values), **THRESHOLDS)
    assert np.array_equal(both.coefficients[:, 0], alone.coefficients[:, 0])
    assert not np.allclose(both.coefficients[:, 1], alone.coefficients[:, 1])


def test_a_model_with_other_features_is_refused() -> None:
    """The file and the code belong together."""
    values = {**THRESHOLDS, "relations": {"UPDATES": {"intercept": 0.0}}}
    with pytest.raises(CorruptArtifactError):
        RelationModel.of(values)
