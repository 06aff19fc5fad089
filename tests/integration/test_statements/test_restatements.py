"""What is said again is kept, and one answer has it once."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.identity import memory_id

pytestmark = pytest.mark.integration

TENANT: Final = "repeating"
BEGINNING: Final = datetime(2026, 1, 10, 18, tzinfo=UTC)
SISTER, SISTER_AGAIN = (
    "My sister lives in Ghent with her two dogs.",
    "My sister lives in Ghent, with two dogs.",
)
GATE, GATE_AGAIN = "The gate code is 4471.", "Reminder: the gate code is 4471."
GARAGE: Final = "The garage code is 9023."
"""Like the code of the gate, and another thing."""
SAID: Final = (SISTER, GATE, GARAGE, SISTER_AGAIN, GATE_AGAIN)
CASES: Final = (
    ("Where does my sister live?", {SISTER, SISTER_AGAIN}),
    ("What is the gate code?", {GATE, GATE_AGAIN}),
)


class Said:
    """A running stack in which Ann said everything, once a week, and Ben the gate code."""

    def __init__(self, stack: Stack, client: RecallClient) -> None:
        self.client = client
        self._runner = CliRunner(env={"HELIX_HOME": str(stack.home.root), "HELIX_TENANT": TENANT})
        for number, text in enumerate(SAID):
            self._publish("ann", number, text)
        self._publish("ben", len(SAID), GATE, "--wait")

    def _publish(self, user: str, number: int, text: str, *options: str) -> None:
        moment = (BEGINNING + timedelta(days=7 * number)).isoformat()
        fields = {"event_id": f"said-{number}", "occurred_at": moment}
        given = [option for name, value in fields.items() for option in ("--set", f"{name}={value}")]
        session = f"week-{number}"
        arguments = ["publish", "--session", session, "--user", user, "--text", text, *options, *given]
        result = self._runner.invoke(app, arguments)
        assert result.exit_code == 0, result.output

    def request(self, query: str, *, user: str = "ann", **fields: Any) -> recall_pb2.RecallRequest:
        """A request for the ten best."""
        scope = recall_pb2.Scope(tenant_id=TENANT, user_id=user)
        return recall_pb2.RecallRequest(scope=scope, query=query, never_skip=True, top_k=10, **fields)

    def recall(self, query: str, **fields: Any) -> recall_pb2.RecallResponse:
        """The reply to a request."""
        return self.client.recall(self.request(query, **fields))


@pytest.fixture(scope="module")
def said(stack: Stack) -> Iterator[Said]:
    """Everything said, in the stack of this folder."""
    with RecallClient(stack.query_address) as client:
        yield Said(stack, client)


def texts(reply: recall_pb2.RecallResponse) -> list[str]:
    """Texts of the memories."""
    return [found.memory.text for found in reply.memories]


def of(text: str) -> str:
    """Id of what Ann said."""
    return memory_id(TENANT, f"said-{SAID.index(text)}", 0)


@pytest.mark.parametrize(("question", "same"), CASES)
def test_an_answer_has_a_restated_statement_once(said: Said, question: str, same: set[str]) -> None:
    """It is among the memories once, and in the packed context once."""
    reply = said.recall(question)
    assert texts(reply)[0] in same
    assert len(same.intersection(texts(reply))) == 1
    assert sum(text in reply.context.text for text in same) == 1


def test_what_is_alike_and_no_restatement_stays(said: Said) -> None:
    """The code of the garage is another thing."""
    assert GARAGE in texts(said.recall("What is the gate code?"))
    assert texts(said.recall("What is the garage code?"))[0] == GARAGE


def test_a_restatement_is_found_by_its_own_words(said: Said) -> None:
    """Of the two the better one for the question is in the answer."""
    for text, other in ((GATE_AGAIN, GATE), (SISTER, SISTER_AGAIN), (SISTER_AGAIN, SISTER)):
        found = texts(said.recall(f'"{text}"'))
        assert found[0] == text
        assert other not in found


def test_the_statement_of_another_user_is_not_missing(said: Said) -> None:
    """Ben said what Ann said, and he has it."""
    assert texts(said.recall("What is the gate code?", user="ben")) == [GATE]


@pytest.mark.parametrize(("question", "same"), CASES)
def test_an_explanation_and_why_not_name_what_is_there_instead(
    said: Said, question: str, same: set[str]
) -> None:
    """The change that why-not advises was tried: without the switch of the profile both are packed."""
    reply = said.recall(question, explain=True)
    (shown,) = same.intersection(texts(reply))
    (missing,) = (of(text) for text in same - {shown})
    (candidate,) = [one for one in reply.explanation.candidates if one.memory_id == missing]
    assert candidate.loss == recall_pb2.LOSS_RESTATEMENT
    assert (candidate.dropped_by, candidate.duplicate_of) == ("diversify", of(shown))
    request = recall_pb2.WhyNotRequest(recall=said.request(question), memory_id=missing)
    found = said.client.why_not(request)
    assert of(shown) in found.verdict
    assert [(one.profile_key, one.value) for one in found.changes] == [
        ("diversify.one_per_statement", "false")
    ]
