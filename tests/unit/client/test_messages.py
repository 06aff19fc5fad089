"""What the client refuses before it sends anything, with the limits and messages of the services."""

import traceback
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest

from helix_memory.client import Helix, InvalidInputError, Written, messages
from helix_memory.client.event_writer import EventWriter
from helix_memory.events import MemoryEvent
from helix_memory.recall.v1 import recall_pb2
from helix_memory.transport.publisher import PubAck
from helix_query.api.requests import query_of

SCOPE = recall_pb2.Scope(tenant_id="acme")
NOTE = Written("e-1", "0" * 32, 7, duplicate=False)
NOWHERE = {"nats_port": 1, "query_port": 1, "deadline_seconds": 0.1}
"""Nothing listens there: a call that sends something raises another error."""


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"top_k": 0}, "top_k"),
        ({"top_k": 201}, "top_k"),
        ({"token_budget": 0}, "token_budget"),
        ({"types": ["opinion"]}, "types"),
        ({"projects": ["a\n"]}, "projects"),
        ({"sessions": ["s"] * 65}, "sessions"),
        ({"flags": ["rude"]}, "flags"),
        ({"flags": "secret"}, "flags"),
        ({"exclude_flags": ["rude"]}, "exclude_flags"),
        ({"mode": "fast"}, "mode"),
        ({"expand_context": "all"}, "expand_context"),
        ({"as_of": datetime(2026, 11, 1)}, "as_of"),  # noqa: DTZ001  without a zone on purpose
        ({"as_of": datetime.max.replace(tzinfo=timezone(-timedelta(hours=5)))}, "as_of"),
        ({"event_after": datetime.min.replace(tzinfo=timezone(timedelta(hours=5)))}, "event_after"),
        ({"after": Written("e", "", 2**64, duplicate=False)}, "after"),
        ({"already_served": ["x"]}, "already_served"),
        ({"event_after": datetime(2026, 2, 1, tzinfo=UTC), "event_before": datetime(2026, 1, 1, tzinfo=UTC)},
         "event_after"),
    ],
)  # fmt: skip
def test_a_recall_that_breaks_a_limit_is_not_sent(options: dict[str, Any], field: str) -> None:
    """The error names the argument."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError) as refused:
        helix.recall("which database?", **options)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda h: h.recall("x", top_kk=3), "top_kk"),
        (lambda h: h.why_not("0" * 32, "x", wait=True), "wait"),
        (lambda h: h.recall("x", after="abc"), "after"),
        (lambda h: h.recall("x", after=[NOTE, 7]), "after"),
        (lambda h: h.recall("x", after=7), "after"),
        (lambda h: h.recall("x", ranking_profile="\ud800"), "ranking_profile"),
        (lambda h: h.recall("x", prefer_project="\ud800"), "prefer_project"),
        (lambda h: h.recall("x", sessions=["\ud800"]), "sessions"),
        (lambda h: h.recall("x", sessions="s"), "sessions"),
        (lambda h: h.recall("x", types=None), "types"),
        (lambda h: h.recall("x", already_served=None), "already_served"),
        (lambda h: h.recall("x", top_k="3"), "top_k"),
        (lambda h: h.recall("x", as_of="2026-01-01"), "as_of"),
        (lambda h: h.recall("x", never_skip="no"), "never_skip"),
        (lambda h: h.recall(None), "query"),
        (lambda h: h.get(None), "memory_id"),
        (lambda h: h.list(page_sise=3), "page_sise"),
        (lambda h: h.list(page_token="\ud800"), "page_token"),  # noqa: S106  no password
        (lambda h: h.timeline(order="newest"), "order"),
        (lambda h: h.sessions(types=["fact"]), "types"),
        (lambda h: h.entities(around="x"), "around"),
    ],
)
def test_a_wrong_argument_is_not_sent(call: Any, field: str) -> None:
    """An unknown option, another type, or a string that is no text: the error names the argument."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError) as refused:
        call(helix)
    assert refused.value.field == field


@pytest.mark.parametrize("query", ["", " \n", "x" * 4_097, "\ud800"])
def test_a_query_that_breaks_a_limit_is_not_sent(query: str) -> None:
    """Empty, too long, or no text."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError, match="query"):
        helix.recall(query)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda h: h.remember(""), "text"),
        (lambda h: h.remember("x" * 100_001), "text"),
        (lambda h: h.remember("\ud800"), "text"),
        (lambda h: h.remember("x", type="opinion"), "type"),
        (lambda h: h.remember("x", salience=1.5), "salience"),
        (lambda h: h.remember("x", event_id="a b"), "event_id"),
        (lambda h: h.message("x", session="a.b"), "session"),
        (lambda h: h.message("x", project="\n"), "project"),
        (lambda h: h.message("x", role="boss"), "role"),
        (lambda h: h.tool("bash"), "event"),
        (lambda h: h.document("d"), "body"),
        (lambda h: h.correct("xyz", "new"), "memory_id"),
        (lambda h: h.forget(), "memories"),
        (lambda h: h.forget("0" * 32, of_session="s"), "memories"),
        (lambda h: h.erase(of_user="ana", of_session="s"), "memories"),
        (lambda h: h.undo("xyz"), "memory_id"),
        (lambda h: h.undo("0" * 32, other="xyz"), "other"),
        (lambda h: h.feedback(), "event"),
        (lambda h: h.remember("x", sesion="s"), "sesion"),
    ],
)
def test_an_event_that_breaks_a_rule_is_not_sent(call: Any, field: str) -> None:
    """The rules are those of the event models."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError) as refused:
        call(helix)
    assert refused.value.field == field


def test_an_undo_names_the_memory_and_at_will_the_other_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is of the caller, as every event about a memory is."""
    sent: list[Any] = []

    def write(_: object, event: Any, *, seconds: float) -> PubAck:
        assert seconds
        sent.append(event)
        return PubAck(7, duplicate=False)

    monkeypatch.setattr(EventWriter, "write", write)
    with Helix(tenant="acme", user="ana", principals=["staff"], **NOWHERE) as helix:
        assert helix.undo("0" * 32).sequence == 7
        helix.undo(NOTE, other="1" * 32)
    assert [(one.kind, one.memory_id, one.other) for one in sent] == [
        ("undo", "0" * 32, ""), ("undo", "0" * 32, "1" * 32),
    ]  # fmt: skip
    assert {(one.user_id, *one.acl) for one in sent} == {("ana", "staff")}


@pytest.mark.parametrize("caller", [{"tenant": "a.b"}, {"user": "a\0"}, {"time_zone": "Mars/Olympus"}])
def test_a_caller_that_breaks_a_limit_is_refused_at_once(caller: dict[str, str]) -> None:
    """The caller is named once, so it is checked once."""
    with pytest.raises(InvalidInputError):
        Helix(**caller)  # type: ignore[arg-type]


def test_the_service_takes_a_request_with_every_option() -> None:
    """What the client accepts, the service accepts with the same meaning."""
    request = messages.recall_request(
        SCOPE,
        "which database?",
        {
            "top_k": 3, "token_budget": 200, "types": ["decision"], "projects": ("p",), "sessions": ["s"],
            "flags": ["invisible"], "exclude_flags": ["secret"], "mode": "dense", "expand_context": "session",
            "never_skip": True, "already_served": [NOTE], "after": [NOTE, NOTE], "include_profile": True,
            "as_of": datetime(2026, 11, 1, tzinfo=UTC), "prefer_project": "p", "not_served": True,
        },
        project="other", time_zone="Europe/Berlin",
    )  # fmt: skip
    query = query_of(request, profiles=["helix"], clock=datetime.now(UTC))
    assert (query.top_k, query.token_budget, query.mode, query.min_sequence) == (3, 200, "dense", 7)
    assert (query.project_id, query.already_served, query.expand_context) == ("p", ("0" * 32,), "session")
    assert (query.selection.as_of, query.not_served) == (datetime(2026, 11, 1, tzinfo=UTC), True)
    assert len(query.selection.filters) == 5


def test_an_event_gets_the_fields_under_their_names() -> None:
    """Short names of the client, and a random id unless one is given."""
    fields = {"tenant_id": "acme", "text": "x", "session": "s", "user": "ana", "project": "p", "tags": ("t",)}
    first, second = (messages.event_of("memory", fields) for _ in range(2))
    assert isinstance(first, MemoryEvent)
    assert (first.session_id, first.user_id, first.project_id, first.tags) == ("s", "ana", "p", ["t"])
    assert first.event_id != second.event_id
    assert messages.event_of("memory", {**fields, "event_id": "mine"}).event_id == "mine"


def test_credentials_are_files_of_the_caller_and_nats_is_trusted_by_the_same_ca() -> None:
    """Without options there are none; a token is given once, and an unknown option is named."""
    calls, nats = messages.credentials_of({})
    assert (calls.is_tls, calls.metadata(), nats.options()) == (False, (), {})
    calls, nats = messages.credentials_of({"token": "t", "ca_file": "/ca.pem", "nats_credentials": "/user"})
    assert (calls.is_tls, calls.metadata()) == (True, (("authorization", "Bearer t"),))
    assert (nats.credentials_file, nats.ca_file) == (Path("/user"), Path("/ca.pem"))
    with pytest.raises(InvalidInputError, match="excludes token_file"):
        messages.credentials_of({"token": "t", "token_file": "/t"})
    with pytest.raises(InvalidInputError, match=r"^tokn: is unknown"):
        Helix(tokn="t")  # type: ignore[call-arg]  # what the check is for


def test_a_secret_that_others_may_read_is_refused(tmp_path: Path) -> None:
    """The file is read when it is used, so a new secret counts at once."""
    path = tmp_path / "token"
    path.write_text("one\n")
    path.chmod(0o600)
    calls, _ = messages.credentials_of({"token_file": path})
    assert calls.metadata() == (("authorization", "Bearer one"),)
    path.write_text("two\n")
    assert calls.metadata() == (("authorization", "Bearer two"),)
    path.chmod(0o644)
    with pytest.raises(InvalidInputError, match="others may read"):
        calls.metadata()


@pytest.mark.parametrize("host", ["127.0.0.1:7461", "http://127.0.0.1", "nats://log", "a/b", "", "::1"])
def test_a_host_is_a_name_or_an_address_alone(host: str) -> None:
    """A port or a scheme in it would lead nowhere, and the error would come with the first call."""
    with pytest.raises(InvalidInputError, match=r"host: must be a name .* nats_url and query_address"):
        Helix(host)
    for good in ("127.0.0.1", "db-1.example", "[::1]"):
        Helix(good).close()


def test_a_refused_text_is_in_no_traceback() -> None:
    """Logs have tracebacks, and a text that is refused because it is private must not be there."""
    fields = {"tenant_id": "t", "role": "user", "text": "<private>4711</private>"}
    with pytest.raises(InvalidInputError) as refused:
        messages.event_of("message", fields)
    shown = "".join(traceback.format_exception(refused.value))
    assert "is all private" in shown
    assert "4711" not in shown
