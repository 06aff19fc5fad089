"""What one user keeps to herself reaches nobody else, through all of the processes."""

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest
from google.protobuf import json_format
from typer.testing import CliRunner

from helix import events
from helix.recall.v1 import recall_pb2
from helix_cli.__main__ import app
from helix_cli.recall_client import RecallClient
from helix_cli.stack import Stack
from helix_shared.broker.connection import connect
from helix_shared.broker.publisher import Publisher

pytestmark = pytest.mark.integration

PATIENCE_SECONDS: Final = 60
SECRETS: Final = ("93,000", "quokka", "axolotl", "Whistleblower")
"""Words that only events with Ann's scope hold."""


@dataclass
class Helix:
    """A running stack, its client, and the events published so far."""

    stack: Stack
    client: RecallClient
    published: int = 0

    def publish(self, kind: str, **fields: Any) -> int:
        """Publish one event of tenant acme; returns its sequence."""
        self.published += 1
        body = {"kind": kind, "event_id": f"p{self.published}", "tenant_id": "acme"} | fields
        event = events.parse_event(json.dumps(body).encode())

        async def send() -> int:
            client = await connect(self.stack.nats_url, name="test")
            try:
                return (await Publisher(client.jetstream()).publish_event(event)).sequence
            finally:
                await client.close()

        return asyncio.run(send())

    def settle(self, sequence: int) -> None:
        """Wait until an event and everything derived of it, expansions and links, is served."""
        self.client.wait_until_applied(sequence, wait_seconds=PATIENCE_SECONDS)
        runner = CliRunner(env={"HELIX_HOME": str(self.stack.home.root)})
        deadline = time.monotonic() + PATIENCE_SECONDS
        while json.loads(runner.invoke(app, ["status", "--json"]).stdout)["lag"]:
            assert time.monotonic() < deadline, "it did not settle"
            time.sleep(0.1)

    def recall(self, query: str, *, user: str, principals: Sequence[str] = (), **fields: Any) -> Any:
        """One recall with everything that can come along."""
        request = recall_pb2.RecallRequest(
            scope=recall_pb2.Scope(tenant_id="acme", user_id=user, principals=principals),
            query=query,
            never_skip=True,
            explain=True,
            top_k=50,
            expand_context=recall_pb2.EXPAND_CONTEXT_SESSION,
            **fields,
        )
        return self.client.recall(request)


@pytest.fixture(scope="module")
def helix(tmp_path_factory: pytest.TempPathFactory, models_dir: Any) -> Iterator[Helix]:
    """One stack for the tests of this file."""
    home = tmp_path_factory.mktemp("home")
    with Stack(home, nats_port=0, query_port=0, models=models_dir) as stack:
        stack.wait_ready()
        with RecallClient(stack.query_address) as client:
            yield Helix(stack, client)


def test_nothing_of_a_private_turn_returns_to_another_user(helix: Helix) -> None:
    """Ann and Bob talk in one session; Ann's turns carry an access list or her name alone."""
    ann: dict[str, Any] = {"session_id": "standup", "user_id": "ann", "role": "user", "speaker": "Ann"}
    bob: dict[str, Any] = {"session_id": "standup", "user_id": "bob", "role": "user", "speaker": "Bob"}
    helix.publish("message", text="My salary is 93,000 and I am ill, what do you think?", acl=["hr"], **ann)
    helix.publish("message", text="No idea honestly", **bob)
    helix.publish("message", text="Who else in Whistleblower Group knows about the quokka?", **ann)
    helix.publish("message", text="Everybody in the canteen", shared=True, **bob)
    helix.publish("tool", tool="bash", command="make lunch", output="done", session_id="standup")
    helix.publish("session", phase="ended", session_id="standup")
    helix.publish("memory", text="The passphrase of the guest network is axolotl today.", user_id="ann")
    last = helix.publish("memory", text="The passphrase of the guest network is posted downstairs today.")
    helix.settle(last)
    questions = ["what is the salary?", "who knows about the animal?", "no idea", "make lunch", "passphrase"]
    for user in ("bob", "", "eve"):
        replies = [helix.recall(question, user=user) for question in questions]
        assert any(reply.memories for reply in replies)
        said = "\n".join(json_format.MessageToJson(reply, ensure_ascii=False) for reply in replies)
        assert [secret for secret in SECRETS if secret in said] == [], user
    own = [helix.recall(question, user="ann", principals=["hr"]) for question in questions]
    said = "\n".join(json_format.MessageToJson(reply, ensure_ascii=False) for reply in own)
    assert [secret for secret in SECRETS if secret not in said] == []
    texts = {found.memory.text for found in helix.recall("no idea", user="bob").memories}
    assert "No idea honestly" in texts
