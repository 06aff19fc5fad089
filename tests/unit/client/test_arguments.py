"""Arguments that no call can use: each is refused with its own name, before anything is sent."""

import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from helix_memory.client import AsyncHelix, Helix, InvalidInputError, Written
from helix_memory.client.event_writer import EventWriter
from helix_memory.transport.publisher import PubAck

ID = "0" * 32
NO_MEMORY = Written("e-1", "", 7, duplicate=False)
DAY, NEXT = datetime(2026, 1, 1, tzinfo=UTC), datetime(2026, 1, 2, tzinfo=UTC)
NOWHERE: dict[str, Any] = {"nats_port": 1, "query_port": 1, "deadline_seconds": 0.1}
"""Nothing listens there: a call that sends something raises another error."""


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The events that are written, by no server."""
    events: list[Any] = []

    def write(_: object, event: Any, *, seconds: float) -> PubAck:
        assert seconds > 0
        events.append(event)
        return PubAck(len(events), duplicate=False)

    monkeypatch.setattr(EventWriter, "write", write)
    return events


@pytest.mark.parametrize("client", [Helix, AsyncHelix])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tenant", None),
        ("tenant", 3),
        ("user", None),
        ("principals", "staff"),
        ("principals", None),
        ("project", "a\n"),
        ("time_zone", 3),
        ("host", None),
        ("nats_port", 0),
        ("nats_port", "4222"),
        ("query_port", 65_536),
        ("nats_url", 3),
        ("query_address", 3),
        ("deadline_seconds", 0),
        ("deadline_seconds", "10"),
        ("deadline_seconds", None),
        ("deadline_seconds", math.nan),
        ("deadline_seconds", True),
        ("wait_seconds", -1),
        ("token", 3),
        ("token_file", 3),
        ("tls", "no"),
        ("tls_file", "ca.pem"),
    ],
)
def test_a_client_is_not_made_of_a_wrong_value(client: Any, field: str, value: object) -> None:
    """Of both clients alike, and not at the first call."""
    with pytest.raises(InvalidInputError) as refused:
        client(**{field: value})
    assert refused.value.field == field


@pytest.mark.parametrize("empty", [None, ""])
def test_an_address_that_is_empty_is_that_of_the_host(empty: str | None) -> None:
    """As `os.environ.get` gives it."""
    with Helix("[::1]", nats_url=empty, query_address=empty, nats_port=5) as helix:
        assert (helix._writer._url, helix._reader.address) == ("nats://[::1]:5", "[::1]:7461")


def test_a_port_counts_only_where_it_is_used() -> None:
    """An address has a port of its own."""
    with Helix(nats_url="nats://log:4222", nats_port=0, query_address="query:7461", query_port=0) as helix:
        assert (helix._writer._url, helix._reader.address) == ("nats://log:4222", "query:7461")


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda h: h.list(order=["newest"]), "order"),
        (lambda h: h.list(types="fact"), "types"),
        (lambda h: h.list(event_after=NEXT, event_before=DAY), "event_after"),
        (lambda h: h.list(deadline_seconds=0), "deadline_seconds"),
        (lambda h: h.recall("x", deadline_seconds="1"), "deadline_seconds"),
        (lambda h: h.recall("x", deadline_seconds=-1), "deadline_seconds"),
        (lambda h: h.recall("x", mode=["dense"]), "mode"),
        (lambda h: h.recall("x", already_served=ID), "already_served"),
        (lambda h: h.recall("x", already_served=[NO_MEMORY]), "already_served"),
        (lambda h: h.why_not(ID, "x", deadline_seconds=-1), "deadline_seconds"),
        (lambda h: h.explain("x", deadline_seconds=-1), "deadline_seconds"),
        (lambda h: h.profile(deadline_seconds=-1), "deadline_seconds"),
        (lambda h: h.sessions(deadline_seconds=-1), "deadline_seconds"),
        (lambda h: h.timeline(around="zz"), "around"),
        (lambda h: h.timeline(around=ID, session="s"), "around"),
        (lambda h: h.timeline(session="a\n"), "session"),
        (lambda h: h.timeline(since=NEXT, until=DAY), "since"),
        (lambda h: h.neighbours(around="zz"), "around"),
        (lambda h: h.neighbours(), "around"),
        (lambda h: h.neighbours(entity="Ana", deadline_seconds=0), "deadline_seconds"),
        (lambda h: h.wait(None), "written"),
        (lambda h: h.receipt("x"), "erased"),
        (lambda h: h.feedback(helpful=ID), "helpful"),
        (lambda h: h.feedback(helpful=[ID], unhelpful=["zz"]), "unhelpful"),
        (lambda h: h.undo(ID, other=NO_MEMORY), "other"),
        (lambda h: h.forget(NO_MEMORY), "memory_id"),
        (lambda h: h.acting_as(tenant=None), "tenant"),
        (lambda h: h.acting_as(token=3), "token"),
        (lambda h: h.session("s", sesion="t"), "sesion"),
        (lambda h: h.session("s", session="t"), "session"),
    ],
)
def test_a_call_with_a_wrong_argument_is_not_made(call: Any, field: str) -> None:
    """Neither a bare exception of Python, nor an error that blames the service."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError) as refused:
        call(helix)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda h: h.remember("x", kind="message"), "kind"),
        (lambda h: h.remember("x", tenant_id="other"), "tenant_id"),
        (lambda h: h.message("x", session="a", session_id="b"), "session_id"),
        (lambda h: h.correct(ID, "x", shared=True), "shared"),
        (lambda h: h.forget(ID, restore=True), "restore"),
        (lambda h: h.restore(ID, restore=False), "restore"),
        (lambda h: h.erase(ID, memory_ids=[]), "memory_ids"),
        (lambda h: h.undo(ID, session="s"), "session"),
        (lambda h: h.feedback(helpful=[ID], tags=["x"]), "tags"),
        (lambda h: h.forget(ID, acl="staff"), "acl"),
        (lambda h: h.remember("x", wait="no"), "wait"),
    ],
)
def test_an_option_that_a_write_does_not_have_is_not_dropped(call: Any, field: str, sent: list[Any]) -> None:
    """Nor does it replace a field that the client sets itself."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError) as refused:
        call(helix)
    assert (refused.value.field, sent) == (field, [])


@pytest.mark.parametrize(
    "call",
    [
        lambda h, **actor: h.correct(ID, "x", **actor),
        lambda h, **actor: h.forget(ID, **actor),
        lambda h, **actor: h.restore(ID, **actor),
        lambda h, **actor: h.erase(ID, **actor),
        lambda h, **actor: h.undo(ID, **actor),
        lambda h, **actor: h.feedback(helpful=[ID], **actor),
    ],
)
def test_what_changes_memories_acts_for_who_is_named(call: Any, sent: list[Any]) -> None:
    """Else for the caller of the client with all principals: it reaches what that one could recall."""
    with Helix(user="ana", principals=["staff"], project="web", **NOWHERE) as helix:
        call(helix)
        call(helix, user="bo", acl=("team", "press"))
    assert [(one.user_id, one.acl) for one in sent] == [("ana", ["staff"]), ("bo", ["team", "press"])]
    assert not any("project_id" in one.model_fields_set for one in sent)


def test_a_correction_moves_a_memory_only_where_that_is_said(sent: list[Any]) -> None:
    """A field that is set, even empty, takes the place of the old one."""
    with Helix(project="web", **NOWHERE) as helix:
        helix.correct(ID, "x", session="s", project="api", tags=["y"])
        helix.correct(ID, "x")
    moved, kept = sent
    assert (moved.session_id, moved.project_id, moved.tags) == ("s", "api", ["y"])
    assert not {"session_id", "project_id", "tags"} & kept.model_fields_set


def test_an_option_that_is_misspelt_is_told_with_the_nearest_one() -> None:
    """As a field of an event is."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError, match="did you mean session"):
        helix.remember("x", sesion="s")  # type: ignore[call-arg]  # on purpose


def test_what_is_written_in_a_session_is_of_no_other(sent: list[Any]) -> None:
    """Another name is refused; its own is the same as none."""
    with Helix(**NOWHERE) as helix:
        trip = helix.session("trip")
        with pytest.raises(InvalidInputError) as refused:
            trip.message("We fly.", session="other")
        assert (refused.value.field, sent) == ("session", [])
        trip.message("We fly.", session="trip")
        trip.message("We fly.")
    assert [one.session_id for one in sent] == ["trip", "trip"]


@pytest.mark.parametrize(
    ("body", "more", "field"),
    [
        (b"<html>\xff", {"media_type": "text/html"}, "body"),
        ("%PDF-1.4", {"media_type": "application/pdf"}, "media_type"),
        (b"%PDF-1.4" + b"x" * 180_000, {}, "body"),
        (b"x", {"media_type": "text/rtf"}, "media_type"),
        ("", {}, "body"),
        (" \n", {}, "body"),
        (b"", {}, "body"),
        (None, {}, "body"),
        (3, {}, "body"),
        ("text", {"deleted": True}, "body"),
        ("text", {"deleted": "no"}, "deleted"),
    ],
)
def test_a_document_that_contradicts_itself_is_not_written(
    body: Any, more: dict[str, Any], field: str, sent: list[Any]
) -> None:
    """The error names the argument, not the field of the event that it would have become."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError) as refused:
        helix.document("d", body, **more)
    assert (refused.value.field, sent) == (field, [])


def test_a_document_is_of_the_type_that_was_given(sent: list[Any]) -> None:
    """Bytes are a PDF unless another type is given: then they are its text."""
    with Helix(**NOWHERE) as helix:
        helix.document("d", "<p>é")
        helix.document("d", "<p>é", media_type="text/html")
        helix.document("d", "<p>é".encode(), media_type="text/html")
        helix.document("d", b"%PDF-1.4")
        helix.document("d", b"%PDF-1.4", media_type="application/pdf")
        helix.document("d", deleted=True)
        helix.document("d", deleted=True, media_type="application/pdf")
    assert [(one.media_type, one.body, one.body_base64) for one in sent] == [
        ("text/plain", "<p>é", ""),
        ("text/html", "<p>é", ""),
        ("text/html", "<p>é", ""),
        ("application/pdf", "", "JVBERi0xLjQ="),
        ("application/pdf", "", "JVBERi0xLjQ="),
        ("text/plain", "", ""),
        ("application/pdf", "", ""),
    ]


@pytest.mark.parametrize("text", [" ", "\n\t"])
def test_white_space_is_told_in_words(text: str) -> None:
    """Not by a pattern, which says nothing to who does not program."""
    with Helix(**NOWHERE) as helix, pytest.raises(InvalidInputError) as refused:
        helix.remember(text)
    assert (refused.value.field, refused.value.reason) == ("text", "must hold more than white space")


@pytest.mark.parametrize(
    ("refused", "field"),
    [
        (lambda: Helix(tenant="acme corp"), "tenant"),
        (lambda: Helix(tenant="acme").remember("x", session="a b"), "session"),
    ],
)
def test_a_tenant_and_a_session_are_refused_in_words(refused: Callable[[], object], field: str) -> None:
    """A pattern is for programs."""
    with pytest.raises(InvalidInputError, match="must be 1 to 64 letters") as error:
        refused()
    assert error.value.field == field
