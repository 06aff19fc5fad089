import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_memory import limits, subjects

TOKENS = st.from_regex(limits.TOKEN_PATTERN, fullmatch=True)
SESSIONS = TOKENS.filter(lambda token: token != subjects.NO_SESSION)


@given(tenant=TOKENS, session=SESSIONS, kind=TOKENS)
def test_an_event_subject_reads_back_as_what_it_was_made_of(tenant: str, session: str, kind: str) -> None:
    """A parsed subject gives the address it was made from."""
    subject = subjects.event_subject(tenant, session, kind)
    assert subjects.parse_event_subject(subject) == subjects.EventAddress(tenant, session, kind)


@given(tenant=TOKENS, kind=TOKENS)
def test_an_event_outside_any_session_reads_back_without_one(tenant: str, kind: str) -> None:
    """The token `-` means no session."""
    subject = subjects.event_subject(tenant, "", kind)
    assert subject == f"helix.v1.events.{tenant}.-.{kind}"
    assert subjects.parse_event_subject(subject) == subjects.EventAddress(tenant, "", kind)


@given(text=st.text(max_size=80))
def test_a_text_is_a_token_exactly_when_it_matches_the_documented_pattern(text: str) -> None:
    """The documented pattern is the one that is checked, also for line breaks."""
    assert subjects.is_token(text) == (re.fullmatch(limits.TOKEN_PATTERN.strip("^$"), text) is not None)


@given(text=st.text(max_size=80))
def test_no_text_breaks_out_of_its_place_in_a_subject(text: str) -> None:
    """Wildcards, dots and spaces never reach a subject."""
    if subjects.is_token(text):
        assert subjects.event_subject(text, text, "message").count(".") == 5
    else:
        with pytest.raises(ValueError, match="subject token"):
            subjects.event_subject(text, "s", "message")


@given(text=st.text(max_size=120))
def test_any_subject_is_either_refused_or_written_back_unchanged(text: str) -> None:
    """A malformed subject gives no address."""
    address = subjects.parse_event_subject(text)
    if address is not None:
        assert subjects.event_subject(address.tenant_id, address.session_id, address.kind) == text


@pytest.mark.parametrize(
    "subject",
    [
        "helix.v1.events.acme.s1",
        "helix.v1.events.acme.s1.message.extra",
        "helix.v2.events.acme.s1.message",
        "helix.v1.derived.acme.s1.message",
        "helix.v1.events.acme.*.message",
        "helix.v1.events..s1.message",
        "helix.v1.events.acme.s1.message\n",
        "",
    ],
)
def test_a_malformed_subject_has_no_address(subject: str) -> None:
    """A subject of another form gives no kind."""
    assert subjects.parse_event_subject(subject) is None


def test_subjects_headers_and_streams_are_the_documented_ones() -> None:
    """Programs outside this repository depend on these strings (ops/decisions/0001)."""
    assert subjects.event_subject("acme", "s1", "message") == "helix.v1.events.acme.s1.message"
    assert subjects.derived_subject("memories", "acme") == "helix.v1.derived.memories.acme"
    assert subjects.dlq_subject("ingest", "acme") == "helix.v1.dlq.ingest.acme"
    assert subjects.dlq_subject("ingest", "not a token") == "helix.v1.dlq.ingest.-"
    assert subjects.message_id("acme", "e-1") == "acme:e-1"
    assert subjects.MSG_ID_HEADER == "Nats-Msg-Id"
    assert (subjects.EVENTS_STREAM, subjects.DERIVED_STREAM) == ("HELIX_EVENTS", "HELIX_DERIVED")
    assert (subjects.ACCESS_STREAM, subjects.DLQ_STREAM) == ("HELIX_ACCESS", "HELIX_DLQ")


def test_subject_filters_are_the_documented_ones() -> None:
    """Streams, consumers and permissions of NATS are made of these strings."""
    assert subjects.ALL_EVENTS == "helix.v1.events.>"
    assert subjects.events_of_tenant("acme") == "helix.v1.events.acme.>"
    assert subjects.events_of_kind("erase") == "helix.v1.events.*.*.erase"
    assert subjects.events_of_kind("*", tenant_id="acme", session_id="s1") == "helix.v1.events.acme.s1.*"
    assert subjects.pairs_subject("*", "*") == "helix.v1.pairs.*.*"
    assert subjects.is_within("helix.v1.events.acme.s1.message", subjects.events_of_tenant("acme"))
    assert not subjects.is_within("helix.v1.events.acme2.s1.message", subjects.events_of_tenant("acme"))


def test_the_service_and_the_edge_are_read_from_subjects_of_their_own_stream_alone() -> None:
    """A subject of another stream has neither."""
    letter, derived = subjects.dlq_subject("kg", "acme"), subjects.derived_subject("links", "acme")
    assert (subjects.service_of(letter), subjects.service_of(derived)) == ("kg", "")
    assert (subjects.edge_of(derived), subjects.edge_of(letter)) == ("links", "")


def test_two_tenants_with_one_event_id_do_not_share_a_message_id() -> None:
    """De-duplication covers the whole stream: without the tenant, one event would be dropped."""
    assert subjects.message_id("acme", "e-1") != subjects.message_id("umbrella", "e-1")
