from datetime import UTC, datetime

import numpy as np
import pytest

from helix_query.profile.intent import Intent
from helix_query.recall.routing.centroids import Centroids, load_centroids
from helix_query.recall.routing.route import route

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)  # a Wednesday
PLAIN = np.array([0.0, 1.0], np.float32)
CENTROIDS = Centroids((Intent.PREFERENCE,), np.array([[1.0, 0.0]], np.float32), PLAIN)


def test_an_intent_by_example_needs_a_margin_over_plain_questions() -> None:
    """Cosine .8 to the examples and .6 to plain questions: the lead of .2 exceeds .1 but not .3."""
    vector = np.array([0.8, 0.6], np.float32)
    assert CENTROIDS.near(vector, margin=0.1) == (Intent.PREFERENCE,)
    assert CENTROIDS.near(vector, margin=0.3) == ()


def test_every_group_of_examples_has_a_centroid_of_length_one() -> None:
    """Centroids are compared by cosine; `plain` is not an intent."""

    def embed(text: str) -> np.ndarray:
        random = np.random.default_rng(sum(text.encode()))
        vector = random.normal(size=8).astype(np.float32)
        return vector / np.linalg.norm(vector)

    centroids = load_centroids(embed)
    assert len(centroids.intents) == len(centroids.vectors)
    assert {Intent.PREFERENCE, Intent.AGGREGATION, Intent.MULTI_HOP, Intent.CURRENT_VALUE} <= set(
        centroids.intents
    )
    assert np.linalg.norm(centroids.vectors, axis=1) == pytest.approx(1.0)


def test_an_intent_by_example_may_be_ruled_out_by_the_words() -> None:
    """A statement has no intent by example, and a question about a first name is not multi-hop."""
    near = Centroids((Intent.MULTI_HOP,), np.array([[1.0, 0.0]], np.float32), PLAIN)
    vector = np.array([1.0, 0.0], np.float32)
    for query in ("Misunderstandings lead to mistakes.", "When did Anna say she likes the garden?"):
        assert Intent.MULTI_HOP not in route(query, vector, now=NOW, centroids=near).intents
    assert (
        Intent.MULTI_HOP
        in route("Which library does the date module need?", vector, now=NOW, centroids=near).intents
    )
