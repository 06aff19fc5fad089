"""Ids that people type: what is enough of one, and for whom it is looked up."""

from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.commands.common import memory_ids
from helix_cli.home.addresses import Server
from helix_memory import limits
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.recall_client import RecallClient
from helix_shared.errors import InvalidInputError

from .fake_service import FakeService
from .memory_commands import ASKED, invoked

CHANGING = ["undo", "forget", "restore", "correct", "pin", "unpin"]


@pytest.mark.parametrize(
    ("given", "principals"),
    [({"acl": ["nurses"]}, ["nurses"]), ({}, []), ({"acl": "nurses"}, []), ({"acl": None, "user_id": 3}, [])],
)
def test_the_access_list_of_the_event_counts(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], principals: list[str]
) -> None:
    """Also one that `helix publish --set acl=...` gives."""
    scopes: list[recall_pb2.Scope] = []

    def whole(ids: list[str], scope: recall_pb2.Scope, _server: object, *, field: str) -> list[str]:
        assert field == "memory_ids"
        scopes.append(scope)
        return [one + "0" for one in ids]

    monkeypatch.setattr(memory_ids, "whole_ids", whole)
    fields = {"tenant_id": "acme", "memory_ids": ["abcd"], **given}
    found = memory_ids.with_whole_ids(fields, lambda: pytest.fail("not asked"))
    assert found["memory_ids"] == ["abcd0"]
    assert scopes == [recall_pb2.Scope(tenant_id="acme", principals=principals)]


@pytest.mark.parametrize(
    ("refused", "told"),
    [
        ("id", "--already-served"),
        ("prefix", "--already-served"),
        ("more_prefixes", "--already-served"),
        ("scope.tenant_id", "scope.tenant_id"),
    ],
)
def test_a_refusal_names_the_ids_only_where_it_is_about_them(
    monkeypatch: pytest.MonkeyPatch, refused: str, told: str
) -> None:
    """A tenant that is none is no fault of the ids."""

    def whole_ids(*_: object) -> list[str]:
        raise InvalidInputError(refused, "is wrong")

    monkeypatch.setattr(RecallClient, "whole_ids", whole_ids)
    request = recall_pb2.RecallRequest(already_served=["0123abcd"])
    with pytest.raises(InvalidInputError, match="is wrong") as error:
        memory_ids.take_whole_ids(request, Server("127.0.0.1:1"))
    assert error.value.field == told


@pytest.mark.parametrize("command", ["history", *CHANGING])
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("aaaa", "begins the ids of several memories: aaaa0"),
        ("bbbb", "no memory whose id begins with bbbb is visible to this scope"),
    ],
)
def test_the_beginning_of_an_id_that_tells_no_memory_is_refused(
    service: FakeService, command: str, given: str, reason: str
) -> None:
    """Nothing is published, and no other memory is taken."""
    service.ids = ["aaaa0" + "0" * 27, "aaaa1" + "0" * 27]
    result = invoked(command, given, "--query", service.address)
    assert result.exit_code != 0
    assert reason in result.stderr


def test_the_beginning_of_an_id_is_enough(service: FakeService) -> None:
    """As the tables show it, in either case of letters."""
    service.ids = [ASKED, "abcd" + "0" * 28]
    for given in (ASKED[:8], ASKED[:8].upper(), ASKED, ASKED.upper()):
        options = ["--tenant", "acme", "--query", service.address]
        assert CliRunner().invoke(app, ["memory", "history", given, *options]).exit_code == 0
        assert service.history_request.memory_id == ASKED


@pytest.mark.parametrize("command", ["history", *CHANGING])
@pytest.mark.parametrize("given", ["a", "8d", "8d1", "tea!", "a" * 33])
def test_what_is_no_beginning_of_an_id_is_refused_with_what_is_enough(command: str, given: str) -> None:
    """Before anything is asked or published; `--help` says the same."""
    enough = "at least the first 4 hexadecimal digits of an id"
    result = invoked(command, given, "--query", "127.0.0.1:1")
    assert result.exit_code == 2
    assert enough in result.stderr
    shown = CliRunner(env={"COLUMNS": "200"}).invoke(app, ["memory", command, "--help"]).stdout
    assert enough in " ".join(shown.split())


SCOPE = recall_pb2.Scope(tenant_id="acme")
OTHER = "abcd" + "0" * 28


@pytest.mark.parametrize("is_earlier", [False, True])
def test_beginnings_of_several_ids_are_looked_up_in_one_call(
    service: FakeService, *, is_earlier: bool
) -> None:
    """Beside whole ids, which are not looked up; a service of an earlier version is asked for each."""
    service.ids, service.is_earlier = [ASKED, OTHER], is_earlier
    given = [ASKED[:8], "f" * 32, "ABCD", ASKED[:8]]
    found = memory_ids.whole_ids(given, SCOPE, lambda: Server(service.address))
    assert found == [ASKED, "f" * 32, OTHER, ASKED]
    asked = [(one.prefix, list(one.more_prefixes)) for one in service.find_requests]
    assert asked == [(ASKED[:8], ["ABCD"]), *([("ABCD", [])] if is_earlier else [])]


@pytest.mark.parametrize("is_earlier", [False, True])
def test_states_of_several_memories_take_a_call_for_a_thousand(
    service: FakeService, *, is_earlier: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None where there is no memory; of an earlier version it is not known which events count."""
    monkeypatch.setattr(limits, "ID_PREFIXES", 2)
    shown = recall_pb2.MemoryState()
    service.ids, service.states, service.is_earlier = [ASKED, OTHER], [shown], is_earlier
    with RecallClient(service.address) as client:
        states, applied = client.states(SCOPE, [ASKED, "f" * 32, OTHER])
        assert client.states(SCOPE, []) == ({}, 0)
    assert states == {ASKED: shown, "f" * 32: None, OTHER: shown}
    assert (applied, len(service.find_requests)) == ((0, 3) if is_earlier else (7, 2))
