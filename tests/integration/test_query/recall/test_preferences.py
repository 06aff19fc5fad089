"""A question that asks for advice gets the preferences that matter, though it shares no word with them."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from helix_memory.explanation import recompute
from helix_query.recall.preferences import search
from helix_shared.artifacts.hits import Hits
from tests.integration.test_query.stated import with_facets

pytestmark = pytest.mark.integration

Ask = Callable[..., Any]
NOISE = 150
DEADLINE_SECONDS = 2.0
"""Of a search, also on a busy machine."""
FACTS = (
    "The regatta was moved to the second pier.",
    "Olga repaired the boiler with two new valves.",
    "The bakery sold ninety birthday cakes in March.",
    "A cake for the office costs forty euros at the bakery.",
)


def said(text: str, **fields: Any) -> dict[str, Any]:
    """A row of a user's statement, with the facets that ingest tells."""
    return with_facets(text, **{"user_id": "ana", "owner": "ana"} | fields)


@pytest.fixture
def ask(corpus: Any, in_process: Any) -> Ask:
    """Asks about what Ana said among many facts."""
    rows = [said("I can't have anything with dairy, it makes me ill."), said("I never take the aisle.")]
    rows += [said("I'd rather get a text than a call.", user_id="ben", owner="ben")]
    rows += [{"text": text} for text in FACTS]
    rows += [{"text": f"Crate {number} left the warehouse on day {number % 28}."} for number in range(NOISE)]
    corpus.add(rows)
    corpus.publish()
    service = in_process(corpus.root, channel_deadline_seconds=DEADLINE_SECONDS, deadline_seconds=20)

    def recall(question: str, *, user: str = "ana", **fields: Any) -> Any:
        return service.recall(question, scope={"tenant_id": "acme", "user_id": user}, **fields)

    return recall


def texts(reply: Any) -> list[str]:
    """The texts, best first."""
    return [found.memory.text for found in reply.memories]


def test_the_preference_of_the_topic_is_among_the_first(ask: Ask) -> None:
    """Out of its topic it is not, and a question for a fact gets none."""
    cake = texts(ask("which birthday cake should the team order for me?"))
    assert "I can't have anything with dairy, it makes me ill." in cake[:5]
    seat = texts(ask("book a seat on the plane to Lisbon for me"))
    assert "I never take the aisle." in seat[:5]
    fact = ask("when did crate 17 leave?", explain=True)
    assert not any(step.name == "preference" for one in fact.explanation.candidates for step in one.steps)


def test_nobody_gets_the_preferences_of_another_user(ask: Ask) -> None:
    """A foreign preference is no candidate at all."""
    reply = ask("how should I reach Ben, call or text?", explain=True, top_k=50)
    assert not any("rather get a text" in text for text in texts(reply))
    assert not any("rather get a text" in one.excerpt for one in reply.explanation.candidates)


@pytest.mark.parametrize("seconds", [0.0, 2 * DEADLINE_SECONDS], ids=["fails", "late"])
def test_a_search_for_preferences_that_does_not_answer_is_named_and_costs_only_its_own_gain(
    ask: Ask, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """The channels answer, in their own time."""

    def fails(*_: object) -> Hits:
        time.sleep(seconds)
        raise OSError("a page could not be read")

    monkeypatch.setattr(search, "_visible_preferences", fails)
    reply = ask("which birthday cake should the team order for me?", explain=True)
    assert list(reply.degraded) == ["preferences"]
    assert "A cake for the office costs forty euros at the bakery." in texts(reply)
    assert not any(step.name == "preference" for one in reply.explanation.candidates for step in one.steps)


def test_the_gain_of_a_preference_is_explained_to_the_last_bit(ask: Ask) -> None:
    """The score can be computed again from the explanation."""
    reply = ask("which birthday cake should the team order for me?", explain=True)
    candidates = {one.excerpt: one for one in reply.explanation.candidates}
    dairy = candidates["I can't have anything with dairy, it makes me ill."]
    [step] = [step for step in dairy.steps if step.name == "preference"]
    assert (step.adds, step.value > 0) == (True, True)
    for one in candidates.values():
        assert recompute(one) == one.score
