"""The lab's side of relations: labels, figures and the written model."""

import tomllib
from collections import Counter

import numpy as np
import pytest

from helix_consolidation.relations.model import RelationModel, shipped_model
from helix_lab.relations import labelled as labels
from helix_lab.relations.fitting import Observations, fitted, model_text
from helix_lab.relations.judging import area_under_curve, precision_at
from helix_lab.sets.data import Document, EvaluationSet
from helix_shared.errors import CorruptArtifactError

THRESHOLDS = {"link": 0.1, "relate": 0.5, "repeat": 0.5, "close": 0.6}


def test_the_gold_pairs_hold_every_class() -> None:
    """At least two hundred, and none of a class that is not known."""
    classes = Counter(labels.pairs().classes.values())
    assert sum(classes.values()) >= 200
    assert set(classes) == {*labels.CLASSES, labels.REVIVED}


def test_a_later_value_of_a_story_updates_all_earlier_ones() -> None:
    """The same value again is a restatement."""
    told = labels.stories()
    order = {document.id: at for at, document in enumerate(told.data.documents)}
    assert all(order[older] < order[newer] for older, newer in told.classes)
    assert set(told.classes.values()) == {labels.UPDATE, labels.RESTATEMENT, labels.UNJUDGED}


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


def test_a_fitted_model_is_written_and_read_back() -> None:
    """It tells updates by the feature that differs."""
    random = np.random.default_rng(7)
    rows = random.normal(size=(400, len(shipped_model().coefficients)))
    classes = np.array(["update" if row[0] > 0.5 else "" for row in rows], dtype=object)
    seen = Observations(
        rows, classes, np.array(["g"] * 400, dtype=object), [("a", str(n)) for n in range(400)]
    )
    model = fitted(seen, **THRESHOLDS)
    again = RelationModel.of(tomllib.loads(model_text(model, "# head")))
    chances = again.probabilities(rows)[:, 1]
    assert np.allclose(chances, model.probabilities(rows)[:, 1], atol=0.01)
    assert area_under_curve(chances, classes == "update") > 0.99


def test_a_model_with_other_features_is_refused() -> None:
    """The file and the code belong together."""
    values = {**THRESHOLDS, "relations": {"UPDATES": {"intercept": 0.0}}}
    with pytest.raises(CorruptArtifactError):
        RelationModel.of(values)
