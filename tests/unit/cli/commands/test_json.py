"""`--json` prints JSON on standard output whatever becomes of the command."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.clients.sending import Tally
from helix_cli.commands import erase
from helix_cli.home.addresses import Server
from helix_cli.sources.event_options import one_event
from helix_memory.machine_zone import local_now
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import TemporaryError
from helix_shared.sources.source_event import Refusal

from .fake_service import FakeService, a_reply

EXPORT = Path(__file__).parents[3] / "golden" / "exports" / "0.1.0.jsonl"


def printed(*arguments: str | Path, code: int = 0) -> Any:
    """What a command prints."""
    result = CliRunner(env={"HELIX_TENANT": "acme"}).invoke(app, [*map(str, arguments), "--json"])
    assert result.exit_code == code, result.output
    return json.loads(result.stdout)


def test_a_dry_run_of_an_export_tells_what_it_holds() -> None:
    """As the line for people."""
    found = printed("import", EXPORT, "--dry-run")
    assert (found["dry_run"], found["events"] > 0, found["tenants"] != []) == (True, True, True)


def test_a_file_that_is_refused_as_a_whole_names_its_lines(tmp_path: Path) -> None:
    """With --strict nothing is published."""
    lines = tmp_path / "events.jsonl"
    lines.write_text('{"kind": "message", "session_id": "s", "role": "user", "text": "hi"}\n{"kind": 1}\n')
    found = printed("publish", lines, "--strict", code=1)
    assert (found["published"], len(found["refused"])) == (0, 1)


def test_a_question_that_is_refused_among_several_has_an_object(service: FakeService) -> None:
    """Each question has its object, in order."""
    service.results = [
        recall_pb2.RecallResult(error=recall_pb2.RecallError(code=3, message="query: is empty")),
        recall_pb2.RecallResult(response=a_reply()),
    ]
    options = ["--tenant", "acme", "--query", service.address, "--json"]
    result = CliRunner().invoke(app, ["recall", "a", "b", *options])
    first, end = json.JSONDecoder().raw_decode(result.stdout)
    assert "error" in first
    assert "memories" in json.loads(result.stdout[end:])


@pytest.mark.parametrize("refusals", [[], [Refusal("erase", "tenant_id", "is another one")]])
def test_an_erasure_that_is_not_waited_for_tells_its_event(
    refusals: list[Refusal], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program asks for the receipt with it."""
    tally = Tally(published=1, refusals=refusals)
    monkeypatch.setattr(erase, "publish_items", lambda *_, **__: tally)
    event = one_event({"of_user": "ana"}, tenant="acme", kind="erase", role="", now=local_now())
    server = Server("nowhere:1")
    try:
        record = erase.CommandRecord(["acme"])
        told = {"missing": ["f" * 32]}
        erase._publish(event, server, server, told, wait_seconds=None, as_json=True, record=record)
    except erase.typer.Exit:
        assert refusals
    found = json.loads(capsys.readouterr().out)
    assert (found["event_id"], len(found["refused"])) == (event.event.event_id, len(refusals))
    assert found["missing"] == ["f" * 32]


def test_an_erasure_whose_wait_fails_tells_its_event(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It goes on: without the id nobody can ask for its receipt."""

    def wait(*_: object) -> None:
        raise TemporaryError("not applied in time")

    monkeypatch.setattr(erase, "publish_items", lambda *_, **__: Tally(published=1))
    monkeypatch.setattr(erase, "await_outcome", wait)
    event = one_event({"of_user": "ana"}, tenant="acme", kind="erase", role="", now=local_now())
    server, record = Server("nowhere:1"), erase.CommandRecord(["acme"])
    with pytest.raises(TemporaryError):
        erase._publish(event, server, server, {}, wait_seconds=1.0, as_json=True, record=record)
    assert json.loads(capsys.readouterr().out)["event_id"] == event.event.event_id
