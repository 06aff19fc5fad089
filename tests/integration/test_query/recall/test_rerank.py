"""Late interaction in the answer of a real generation: what the words do, and what is shown of them."""

from collections.abc import Callable
from typing import Any

import pytest

from helix_memory.explanation import LATE_INTERACTION, interaction_gain, recompute
from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

MOVED = "The bakery moved to Lindgasse in May."
ROWS: list[dict[str, Any]] = [
    {"text": MOVED, "speaker": "Olga"},
    {"text": "Her bakery sells rye bread and poppy seed rolls.", "speaker": "Olga"},
    {"text": "Lindgasse is closed for cars until autumn.", "speaker": "Petr"},
    {"text": "The ferry to the island leaves at seven.", "speaker": "Petr"},
    {"text": "Petr repairs clocks on Sundays.", "speaker": "Olga"},
    {"text": "?!", "speaker": "Petr"},
]


@pytest.fixture
def bakery(corpus: Any, in_process: Callable[..., Any]) -> tuple[Any, dict[str, str]]:
    """A service on a few memories, and their ids by text."""
    ids = corpus.add([dict(row) for row in ROWS])
    corpus.publish()
    return in_process(corpus.root), dict(zip([row["text"] for row in ROWS], ids, strict=True))


def steps_of(candidate: Any) -> list[str]:
    """Names of the steps of its score."""
    return [step.name for step in candidate.steps]


def test_each_word_of_the_query_meets_the_nearest_word_of_a_memory(bakery: Any) -> None:
    """A word meets itself or its like with a similarity that is higher than elsewhere; the sum is exact."""
    service, ids = bakery
    reply = service.recall("Where did the bakery relocate?", explain=True, never_skip=True)
    found = {one.memory_id: one for one in reply.explanation.candidates}
    best, other = found[ids[MOVED]], found[ids["The ferry to the island leaves at seven."]]
    met = {match.word: match for match in best.late_interaction.words}
    assert {word: match.nearest for word, match in met.items()} == {"bakery": "bakery", "relocate": "moved"}
    elsewhere = {match.word: match.similarity for match in other.late_interaction.words}
    assert all(met[word].similarity > elsewhere[word] > -1.0 for word in met)
    assert reply.memories[0].memory.memory_id == ids[MOVED]
    for one in found.values():
        assert recompute(one) == one.score
        assert one.HasField("late_interaction") == (one.memory_id != ids["?!"])


def test_the_words_of_a_question_without_its_apostrophe_are_whole(bakery: Any) -> None:
    """It is embedded as "where's the bakery now?", and the places of its words are those in that."""
    service, ids = bakery
    reply = service.recall("wheres the bakery now", explain=True, never_skip=True)
    best = next(one for one in reply.explanation.candidates if one.memory_id == ids[MOVED])
    assert [match.word for match in best.late_interaction.words] == ["bakery", "now"]


def test_the_step_follows_from_the_words_and_comes_before_those_of_a_life(bakery: Any) -> None:
    """It is the first step; what is shown of the words gives its value."""
    service, ids = bakery
    reply = service.recall("Where did the bakery relocate?", explain=True, never_skip=True)
    one = next(one for one in reply.explanation.candidates if one.memory_id == ids[MOVED])
    step = one.steps[0]
    assert (step.name, step.adds) == (LATE_INTERACTION, True)
    before = one.relevance
    for boost in one.boosts:
        before *= boost.value
    assert interaction_gain(one.late_interaction, before) == step.value > 0.0


@pytest.mark.parametrize(
    ("query", "fields"),
    [
        ("Where did the bakery move?", {"ranking_profile": "cems"}),
        ("Where did the bakery move?", {"ranking_profile": "engram"}),
        ("Where did the bakery move?", {"ranking_profile": "helix-reference"}),
        ("Where did the bakery move?", {"mode": recall_pb2.MODE_DENSE}),
        ("who is she with?", {}),
    ],
)
def test_nothing_is_compared_where_it_is_off_or_no_word_counts(
    bakery: Any, query: str, fields: dict[str, Any]
) -> None:
    """Published recipes, mode dense, and queries of function words alone."""
    service, _ = bakery
    reply = service.recall(query, explain=True, never_skip=True, **fields)
    assert reply.explanation.candidates
    assert "rerank" in [stage.stage for stage in reply.stages]
    for one in reply.explanation.candidates:
        assert LATE_INTERACTION not in steps_of(one)
        assert not one.HasField("late_interaction")


def test_why_not_says_what_the_words_did(bakery: Any) -> None:
    """A memory that lost by its words is told so, and the advice is tried."""
    service, ids = bakery
    lost = ids["Lindgasse is closed for cars until autumn."]
    request = recall_pb2.RecallRequest(
        scope=recall_pb2.Scope(tenant_id="acme"),
        query="Where did the bakery relocate?",
        top_k=1,
        never_skip=True,
    )
    reply = service.stub.WhyNot(recall_pb2.WhyNotRequest(recall=request, memory_id=lost), timeout=60)
    gain = next(step.value for step in reply.candidate.steps if step.name == LATE_INTERACTION)
    assert f"Late interaction {'took' if gain < 0 else 'added'} {abs(gain):.4f}" in reply.verdict
    assert reply.changes
