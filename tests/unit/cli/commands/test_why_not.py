import json

import grpc
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.recall.v1 import recall_pb2

from .fake_service import FakeService

ID = "4f" * 16


def run(*arguments: str) -> tuple[int, str, str]:
    """Exit code and both outputs of a command."""
    result = CliRunner(env={"COLUMNS": "200"}).invoke(app, arguments)
    return result.exit_code, result.stdout, result.stderr


def test_why_not_takes_the_options_of_recall(service: FakeService) -> None:
    """It prints the verdict and the proposed change."""
    service.why_not_reply.verdict = "It is at position 12."
    service.why_not_reply.advice = "Ask with top_k = 12."
    narrowed = ("--tenant", "acme", "--user", "ada", "--type", "code", "--top-k", "3")
    options = (*narrowed, "--profile", "cems", "--mode", "dense", "--already-served")
    code, out, _ = run("why-not", ID, "which?", "--query", service.address, *options, "ab" * 16)
    assert (code, out) == (0, "It is at position 12.\nAsk with top_k = 12.\n")
    sent = service.why_not_request.recall
    assert (service.why_not_request.memory_id, sent.query, sent.scope.user_id) == (ID, "which?", "ada")
    assert (list(sent.filter.types), sent.top_k, sent.ranking_profile) == (["code"], 3, "cems")
    assert (sent.mode, list(sent.already_served)) == (recall_pb2.MODE_DENSE, ["ab" * 16])


def test_the_beginning_of_an_id_is_enough_for_what_was_served(service: FakeService) -> None:
    """As for the missing memory itself, and as `helix recall` takes it."""
    service.ids = ["ab" * 16]
    options = ("--tenant", "acme", "--query", service.address, "--already-served", "abab")
    assert run("why-not", ID, "which?", *options)[0] == 0
    assert list(service.why_not_request.recall.already_served) == service.ids


def test_why_not_as_json_has_the_change(service: FakeService) -> None:
    """Programs get fields and values."""
    service.why_not_reply.changes.add(request_field="top_k", value="12", was="3")
    reply = json.loads(
        run("why-not", ID, "which?", "--tenant", "acme", "--query", service.address, "--json")[1]
    )
    assert reply["changes"] == [{"request_field": "top_k", "profile_key": "", "value": "12", "was": "3"}]


def test_why_not_of_an_invisible_memory_fails_with_the_servers_message(
    service: FakeService,
) -> None:
    """The exit code is not 0."""
    service.refuse = (grpc.StatusCode.NOT_FOUND, "no memory is visible to this scope")
    code, _, err = run("why-not", ID, "which?", "--tenant", "acme", "--query", service.address)
    assert code == 1
    assert "no memory is visible" in err


def test_why_not_needs_a_tenant() -> None:
    """As `helix recall` does."""
    code, _, err = run("why-not", ID, "which?", "--query", "127.0.0.1:1")
    assert code == 2
    assert "--tenant" in err
