"""Which fact about the asker a question asks for, by example."""

import numpy as np
import pytest

from helix_query.recall.preferences.topics import Discriminant
from helix_query.recall.profile_facts.questions import FactQuestions
from tests.unit.query.test_preference_topics import embed, vectors


@pytest.fixture(scope="module")
def questions() -> FactQuestions:
    """Two facts, and questions for something else in the same words."""
    return FactQuestions.fitted(
        {
            "home": vectors("where do i live", "which town is my home", "where is my home"),
            "age": vectors("how old am i", "what is my age"),
        },
        vectors("where does she live", "how old is the house", "which town has the fair"),
        lambda one, other: Discriminant.fitted(one, other, ridge=0.01).of,
    )


@pytest.mark.parametrize(("text", "fact"), [("where is home", "home"), ("how old am i now", "age")])
def test_the_fact_of_the_nearest_examples_is_asked_for(
    questions: FactQuestions, text: str, fact: str
) -> None:
    """With a value well above 0."""
    found, value = questions.asked_fact(embed(text).astype(np.float32))
    assert found == fact
    assert value > 0.3


@pytest.mark.parametrize("text", ["how old is the house", "which town has the fair", "when was the fair"])
def test_another_question_asks_for_none(questions: FactQuestions, text: str) -> None:
    """Its value is below 0."""
    assert questions.asked_fact(embed(text).astype(np.float32))[1] < 0
