import hashlib
import re

import numpy as np
import pytest

from helix_query.recall.preferences.search import asks_for_advice
from helix_query.recall.preferences.topics import Topics

DIMENSIONS = 64


def embed(text: str) -> np.ndarray:
    """A bag of words: each word is a fixed random direction."""
    total = np.zeros(DIMENSIONS)
    for word in re.findall(r"[a-z]+", text.lower()):
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest())
        total += np.random.default_rng(seed).normal(size=DIMENSIONS)
    return total / np.linalg.norm(total)


def vectors(*texts: str) -> np.ndarray:
    """One unit vector a text."""
    return np.stack([embed(text) for text in texts])


@pytest.fixture(scope="module")
def topics() -> Topics:
    """Two topics and three questions for facts."""
    return Topics.fitted(
        stated=[
            vectors("soup milk bread", "milk cheese soup"),
            vectors("train plane seat", "seat ferry plane"),
        ],
        asked=[vectors("should we order soup", "should we bake bread"), vectors("should we book a train")],
        facts=vectors("when did it begin", "who said that then", "when was that"),
    )


def test_texts_of_one_topic_are_alike(topics: Topics) -> None:
    """Also where they share no word; each row is a unit vector."""
    soup, cheese, ferry = topics.of(vectors("bread soup", "cheese milk", "ferry seat").astype(np.float32))
    assert soup @ cheese > 0.9
    assert soup @ ferry < 0.5
    assert np.linalg.norm(soup) == pytest.approx(1.0)


def test_a_question_for_advice_is_told_from_one_for_a_fact(topics: Topics) -> None:
    """Above 0 and below 0."""
    assert topics.asks_advice.of(embed("should we order bread").astype(np.float32)) > 0
    assert topics.asks_advice.of(embed("when did that begin").astype(np.float32)) < 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("When did she stop eating meat?", True),
        ("and how many guests came?", True),
        ("is the ferry still running", True),
        ("what was the budget?", True),
        ("what should I cook for Ada?", False),
        ("how should I reach the plumber?", False),
        ("order pizza for the crew", False),
        ("a leather bag for Kim, good idea?", False),
        ("where should we sit?", False),
    ],
)
def test_questions_for_facts_are_told_by_their_first_words(topics: Topics, text: str, expected: bool) -> None:
    """They get no preferences, however near the examples."""
    example = embed("should we order soup").astype(np.float32)
    assert (asks_for_advice(text, example, topics) == 0) is expected
