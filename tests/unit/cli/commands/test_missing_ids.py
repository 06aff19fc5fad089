"""Which ids of an event name nothing, as `helix publish` tells it."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.clients.sending import Tally
from helix_cli.commands import publish
from helix_cli.commands.common import publishing

from .fake_service import FakeService
from .memory_commands import ASKED, a_state

UNKNOWN = "f" * 32
LISTS = {"forget": "memory_ids", "erase": "memory_ids", "feedback": "helpful"}


@pytest.fixture(autouse=True)
def published(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every event gets the sequence 8; the query service has those up to 7."""
    monkeypatch.setattr(publish, "publish_items", lambda *_, **__: Tally(published=1, last_sequence=8))


def sent(kind: str, address: str, *options: str, field: str = "") -> tuple[dict[str, Any], str]:
    """What `helix publish --json` of an event with two ids prints, and what it writes to standard error."""
    ids = f'{field or LISTS[kind]}=["{ASKED}", "{UNKNOWN}"]'
    command = ["publish", "--kind", kind, "--set", ids, "--tenant", "acme", "--json", *options]
    result = CliRunner().invoke(app, [*command, "--query", address, "--nats", "nats://127.0.0.1:1"])
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout), " ".join(result.stderr.split())


@pytest.mark.parametrize(
    ("kind", "meaning"),
    [
        ("forget", "--wait tells whether it was on its way"),
        ("erase", "what is on its way is still erased"),
        ("feedback", "--wait tells whether it was on its way"),
    ],
)
def test_ids_of_no_memory_are_named(service: FakeService, kind: str, meaning: str) -> None:
    """With what that means, and where no user is named, whose memories are not looked up."""
    service.ids, service.states = [ASKED], [a_state("FORGOTTEN")]
    told, said = sent(kind, service.address, "--user", "ana")
    assert (told["published"], told["missing"]) == (1, [UNKNOWN])
    assert f"no memory of this caller: {UNKNOWN}; {meaning}" in said
    assert "without --user" not in said
    assert service.find_requests[0].scope.user_id == "ana"
    assert "without --user, memories of users are reached, too" in sent(kind, service.address)[1]


def test_both_lists_of_feedback_count(service: FakeService) -> None:
    """And nothing is said where every id is known."""
    service.ids, service.states = [ASKED], [a_state("NONE")]
    assert sent("feedback", service.address, field="unhelpful")[0]["missing"] == [UNKNOWN]
    service.ids = [ASKED, UNKNOWN]
    told, said = sent("feedback", service.address, field="unhelpful")
    assert (told["missing"], "no memory" in said) == ([], False)


def test_an_event_does_not_need_the_query_service() -> None:
    """What is missing is not known then."""
    told, said = sent("forget", "127.0.0.1:1")
    assert (told["published"], told["missing"], "no memory" in said) == (1, None, False)


@pytest.mark.parametrize(("sequence", "missing"), [(8, [UNKNOWN]), (7, None), (6, None)])
def test_what_an_applied_erasure_has_not_found_is_not_known(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, sequence: int, missing: list[str] | None
) -> None:
    """What it removed is not there either; a forgotten memory stays, so that it does not matter there."""
    tally = Tally(published=1, last_sequence=sequence)
    monkeypatch.setattr(publish, "publish_items", lambda *_, **__: tally)
    service.ids, service.states = [ASKED], [a_state("NONE")]
    assert sent("erase", service.address)[0]["missing"] == missing
    assert sent("forget", service.address)[0]["missing"] == [UNKNOWN]


@pytest.mark.parametrize(("kind", "missing"), [("forget", []), ("feedback", []), ("erase", [UNKNOWN])])
def test_ids_are_looked_up_after_the_wait_and_those_of_an_erasure_before(
    service: FakeService, monkeypatch: pytest.MonkeyPatch, kind: str, missing: list[str]
) -> None:
    """What was on its way is there after the wait, and what was erased is not."""
    service.ids, service.states = [ASKED], [a_state("NONE")]

    def arrive(*_: object) -> int:
        service.ids = [] if kind == "erase" else [ASKED, UNKNOWN]
        return 3

    monkeypatch.setattr(publishing, "await_outcome", arrive)
    told, said = sent(kind, service.address, "--wait")
    assert (told["missing"], UNKNOWN in said) == (missing, bool(missing))
