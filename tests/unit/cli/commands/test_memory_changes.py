"""Which memory a correction changes, and which it leaves as it is."""

import json

import grpc
import pytest

from helix_cli.output.exit_codes import UNCHANGED_EXIT, UNREACHABLE_EXIT
from helix_memory.recall.v1 import recall_pb2

from .fake_service import FakeService
from .memory_commands import ASKED, CORRECTED, invoked


@pytest.mark.parametrize(
    ("command", "reason"),
    [("pin", "it is pinned already"), ("unpin", ""), ("correct", "")],
)
def test_the_last_version_of_a_memory_is_corrected(service: FakeService, command: str, reason: str) -> None:
    """What has the wanted value stays as it is: nothing is published, and the exit code tells."""
    service.ids, service.history_reply = [ASKED], CORRECTED
    result = invoked(command, ASKED, "--query", service.address)
    assert (result.exit_code, f"unchanged {ASKED[:8]}: {reason}" in result.stderr) == (
        (UNCHANGED_EXIT, True) if reason else (UNREACHABLE_EXIT, False)
    )


def test_a_forgotten_memory_is_not_corrected(service: FakeService) -> None:
    """The state names the event, so that the reason does."""
    service.ids, service.refuse = [ASKED], (grpc.StatusCode.NOT_FOUND, "no memory")
    service.states = [recall_pb2.MemoryState(loss=recall_pb2.LOSS_FORGOTTEN, event_sequence=7)]
    result = invoked("pin", ASKED, "--query", service.address, "--json")
    reason = "it is forgotten by the event with sequence 7; restore it first"
    assert (result.exit_code, json.loads(result.stdout)) == (
        UNCHANGED_EXIT,
        {"changed": {}, "unchanged": {ASKED: reason}},
    )


def test_pinning_an_unknown_memory_fails(service: FakeService) -> None:
    """Its text is needed; without a user the hint says whose memories are looked at."""
    service.refuse = (grpc.StatusCode.NOT_FOUND, "no memory")
    result = invoked("pin", ASKED, "--query", service.address)
    assert result.exit_code == 1
    assert "is visible to this scope; without --user" in result.stderr
