"""What was served is counted, feedback moves salience, decay hides and shows: with all processes."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from helix_cli.stack.stack import Stack
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import current_number
from helix_shared.artifacts.generation.reader import Generation

from .running import run, until

pytestmark = pytest.mark.integration

ENVIRONMENT = {
    "HELIX_FORWARDER_PUBLISH_INTERVAL_SECONDS": "0.2",
    "HELIX_CONSOLIDATION_ACCESS_INTERVAL_SECONDS": "0.2",
    "HELIX_CONSOLIDATION_SWEEP_SECONDS": "0.5",
    "HELIX_CONSOLIDATION_DECAY_AFTER_DAYS": str(1 / 86_400),
    "HELIX_CONSOLIDATION_DECAY_MOST_SALIENCE": "0.3",
}
"""Counts and sweeps often; what is weak decays within a second."""
SCOPE = recall_pb2.Scope(tenant_id="acme")
TEA = "The kettle in the workshop is descaled with vinegar."
LATER = "The guild meets in the old mill on Thursdays."
BUS = "we missed the bus"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """A running stack without the workers that only enrich."""
    home, unused = tmp_path_factory.mktemp("home"), dict.fromkeys(("doc2query", "kg"), 0)
    with Stack(
        home, nats_port=0, query_port=0, copies=unused, models=models_dir, environment=ENVIRONMENT
    ) as running:
        running.wait_ready()
        yield running


def said(home: Path, text: str) -> None:
    """Publish a turn and wait until it can be recalled."""
    code, _, err = run(home, "publish", "--session", "s1", "--text", text, "--wait")
    assert code == 0, err


def memory_of(client: RecallClient, text: str) -> Any:
    """The recalled memory of this text; None: it is not recalled."""
    reply = client.recall(recall_pb2.RecallRequest(scope=SCOPE, query=text, never_skip=True, explain=True))
    return next((one.memory for one in reply.memories if one.memory.text == text), None)


def get(client: RecallClient, memory_id: str) -> Any:
    """A memory by id; reading it is an access."""
    return client.memory(SCOPE, memory_id)


def move_of(stack: Stack, memory_id: str) -> float:
    """What use adds to the salience of a memory in the newest generation."""
    number = current_number(stack.home.data)
    assert number is not None
    generation = Generation.open(stack.home.data, number)
    [ordinal] = generation.vectors.find([memory_id], ["ordinal"])["ordinal"].to_pylist()
    move = float(generation.signals.salience_move[ordinal])
    generation.close()
    return move


def test_recalls_are_counted_and_feedback_moves_salience(stack: Stack) -> None:
    """A recall raises the count in a later generation; explanations do not; status shows the forwarder."""
    home = stack.home.root
    with RecallClient(stack.query_address) as client:
        said(home, TEA)
        memory = memory_of(client, TEA)
        until(lambda: json.loads(run(home, "status", "--json")[1])["query"]["accesses"]["forwarders"] == 1)
        before = datetime.now(UTC)
        for _ in range(3):
            client.recall(recall_pb2.RecallRequest(scope=SCOPE, query="how is the kettle descaled?"))
        until(lambda: client.status().accesses.waiting == 0)
        until(lambda: move_of(stack, memory.memory_id) > 0)
        until(lambda: json.loads(run(home, "status", "--json")[1])["access_lag"] == 0)
        until(lambda: client.status().generation == current_number(stack.home.data))
        read = get(client, memory.memory_id)
        assert read.access_count == 3
        assert read.last_accessed_at.ToDatetime(UTC) >= before
        assert "forwarder ok" in run(home, "status")[1]

        served = move_of(stack, memory.memory_id)
        for verdict in ("unhelpful", "helpful", "helpful"):
            event = ("--kind", "feedback", "--set", f'{verdict}=["{memory.memory_id}"]')
            assert run(home, "publish", *event)[0] == 0
        until(lambda: move_of(stack, memory.memory_id) > served)
        assert move_of(stack, memory.memory_id) <= 0.3


def test_decay_hides_and_what_is_read_comes_back(stack: Stack) -> None:
    """A weak turn is hidden once the tenant's log is ahead; WhyNot says why; reading it shows it again."""
    home = stack.home.root
    with RecallClient(stack.query_address) as client:
        said(home, BUS)
        hidden_id = memory_of(client, BUS).memory_id
        time.sleep(1.5)
        said(home, LATER)
        until(lambda: client.status().decayed == 1)
        assert memory_of(client, BUS) is None
        assert "1 more hidden by decay" in run(home, "status")[1]

        question = recall_pb2.RecallRequest(scope=SCOPE, query=BUS, never_skip=True)
        why = client.why_not(recall_pb2.WhyNotRequest(recall=question, memory_id=hidden_id))
        assert why.loss == recall_pb2.LOSS_DECAYED
        assert "Decay hides it" in why.verdict

        assert get(client, hidden_id).HasField("decayed_at")
        until(lambda: client.status().decayed == 0)
        assert memory_of(client, BUS).text == BUS


def test_without_a_forwarder_recalls_go_on(stack: Stack) -> None:
    """The ring keeps what it can."""
    stack.kill("forwarder")
    with RecallClient(stack.query_address) as client:
        assert client.recall(recall_pb2.RecallRequest(scope=SCOPE, query="kettle vinegar")).memories
