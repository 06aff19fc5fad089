"""The client of the command line with a real service."""

from typing import Any

import pytest

from helix_cli.home.addresses import Server
from helix_cli.home.served import wait_until_served
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_query.api import status_call as handlers
from helix_shared.errors import OtherInstanceError

pytestmark = pytest.mark.integration

NOWHERE = Server("nats://127.0.0.1:1")


def test_a_recall_reads_the_status_once(
    corpus: Any, in_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One reply has the instance and the generation; another instance is refused."""
    corpus.add([{"text": "We chose the database Postgres."}])
    corpus.publish()
    service = in_process(corpus.root, instance="home", deadline_seconds=10, channel_deadline_seconds=5)
    real, asked = handlers.status_response, list[str]()

    def counting(*args: Any, instance: str, **kwargs: Any) -> recall_pb2.GetStatusResponse:
        asked.append(instance)
        return real(*args, instance=instance, **kwargs)

    monkeypatch.setattr(handlers, "status_response", counting)
    request = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="Which database?")
    with RecallClient(service.address, instance="home") as client:
        wait_until_served(client, NOWHERE)
        assert client.recall(request).memories
    assert asked == ["home"]
    with RecallClient(service.address, instance="another home") as client:
        for call in (client.status, lambda: client.recall(request)):
            with pytest.raises(OtherInstanceError):
                call()
