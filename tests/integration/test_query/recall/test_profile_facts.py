"""A question for the caller's own name, home, work, partner or age is answered by what holds of them."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from helix_memory.explanation import recompute
from tests.integration.test_query.stated import with_facets

pytestmark = pytest.mark.integration

Ask = Callable[..., Any]
NOISE = 150
START = datetime(2026, 1, 5, 9, tzinfo=UTC)
ANA = (
    "My name is Ana and I live in Ghent with my partner Lies.",
    "I work at Barco as an engineer.",
    "I moved to Bruges, near the canal.",
    "Would Antwerp be a nice place to live?",
    "I quit Barco, it was too loud.",
)
FACTS = (
    "Most people in the city live near the river.",
    "The town where the founders live has a new bridge.",
    "Work on the bridge begins in May, says the employer of the welders.",
)


CLEO = {"the boiler man comes on thursday": 5, "cataract op on the 14th": 20, "the choir sang on friday": -5}
"""What Cleo said of days so many after today."""


def said(text: str, user: str, day: int, *, ahead_of: datetime | None = None) -> dict[str, Any]:
    """A row of a user's statement, with the facets that ingest tells."""
    at = START + timedelta(days=day)
    return with_facets(text, ahead_of=ahead_of, user_id=user, owner=user, occurred_at=at)


@pytest.fixture
def ask(corpus: Any, in_process: Any) -> Ask:
    """Asks about what Ana and Ben said of themselves, among many facts."""
    rows = [said(text, "ana", 10 * number) for number, text in enumerate(ANA)]
    rows.append(said("I live in Porto and I work at Feedzai.", "ben", 90))
    for text, days in CLEO.items():
        comes = datetime.now(UTC) + timedelta(days=days)
        row = said(text, "cleo", 95, ahead_of=datetime.now(UTC))
        rows.append(row | {"event_start": comes, "event_end": comes + timedelta(days=1)})
    rows += [{"text": text} for text in FACTS]
    rows += [{"text": f"Crate {number} left the warehouse on day {number % 28}."} for number in range(NOISE)]
    corpus.add(rows)
    corpus.publish()
    service = in_process(corpus.root)

    def recall(question: str, *, user: str = "ana", **fields: Any) -> Any:
        return service.recall(question, scope={"tenant_id": "acme", "user_id": user}, **fields)

    return recall


def first(reply: Any) -> str:
    """The text of the best memory."""
    text: str = reply.memories[0].memory.text
    return text


@pytest.mark.parametrize("question", ["what do you know about me", "Tell me about myself."])
def test_who_asks_for_themself_gets_what_holds_of_them(ask: Ask, question: str) -> None:
    """Nothing of others, and nothing that was replaced alone."""
    told = [one.memory.text for one in ask(question, top_k=3).memories]
    assert set(told) == {ANA[0], ANA[2], ANA[4]}
    assert ask("what do you know about the bridge?").memories[0].memory.text in FACTS


@pytest.mark.parametrize("question", ["what's coming up?", "do i have anything planned"])
def test_who_asks_for_what_comes_gets_what_is_not_over(ask: Ask, question: str) -> None:
    """No crate and no bridge, and nothing of others."""
    told = [one.memory.text for one in ask(question, user="cleo", top_k=2).memories]
    assert set(told) == {text for text, days in CLEO.items() if days > 0}
    assert not set(CLEO) & {one.memory.text for one in ask(question, top_k=50).memories}


@pytest.mark.parametrize(
    ("question", "answer"),
    [("what's my name?", ANA[0]), ("where do I work?", ANA[4]), ("who is my partner?", ANA[0])],
)
def test_what_holds_stands_first(ask: Ask, question: str, answer: str) -> None:
    """Of a value that ended, the statement that says so is the last word."""
    assert first(ask(question)) == answer


def test_every_user_gets_their_own(ask: Ask) -> None:
    """The statements of another user are no candidates."""
    assert first(ask("where do I live?", user="ben")) == "I live in Porto and I work at Feedzai."
    assert all("Porto" not in found.memory.text for found in ask("where do I live?", top_k=50).memories)


@pytest.mark.parametrize(
    "question",
    [
        "where did I live before?",
        "where does Lies live?",
        "when did crate 17 leave?",
        "where do I keep the keys?",
    ],
)
def test_another_question_gets_no_such_gain(ask: Ask, question: str) -> None:
    """Of earlier times, of somebody else, of something else."""
    reply = ask(question, explain=True)
    assert not any(step.name == "profile_fact" for one in reply.explanation.candidates for step in one.steps)


def test_the_gain_is_explained_to_the_last_bit(ask: Ask) -> None:
    """The score can be computed again from the explanation, and one switch turns the step off."""
    reply = ask("where do I live?", explain=True)
    steps = {
        one.excerpt: step.value
        for one in reply.explanation.candidates
        for step in one.steps
        if step.name == "profile_fact" and step.value > 0
    }
    assert list(steps) == [first(reply)]
    for one in reply.explanation.candidates:
        assert recompute(one) == one.score
