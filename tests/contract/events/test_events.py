"""Every kind of event: parsing, encoding, identity, names, and the reasons of refusals."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from helix_memory import events

from .golden_events import GOLDEN, KINDS, golden_event, refusal_of


@pytest.mark.parametrize(
    "moment", ["9999-12-31T23:59:59-12:00", "0001-01-01T00:00:00+14:00", "3000-01-01T00:00Z"]
)
def test_a_time_around_which_arithmetic_overflows_is_refused(moment: str) -> None:
    """Such an event would stop every later generation."""
    body = {"kind": "message", "event_id": "e", "tenant_id": "t", "role": "user", "text": "x"}
    with pytest.raises(ValidationError, match="must lie in the years"):
        events.parse_event(json.dumps(body | {"occurred_at": moment}).encode())


SAID = {"message": {"role": "user"}, "memory": {}, "correct": {"memory_id": "0" * 32}}


@pytest.mark.parametrize("kind", SAID)
def test_what_is_marked_as_private_is_in_no_event(kind: str) -> None:
    """Neither in what is published nor in what ingest reads, whoever published it."""
    given = {"event_id": "e", "tenant_id": "t", "kind": kind, **SAID[kind]}
    text = "<private>My therapist is Dr. Hall.</private> I am away on Fridays <PRIVATE>at six</PRIVATE>."
    event = events.parse_event(json.dumps(given | {"text": text}).encode())
    assert json.loads(events.encode_event(event))["text"] == "I am away on Fridays."
    for same in ("List<private_t> is a type", " two  spaces "):
        assert events.EVENT_ADAPTER.validate_python(given | {"text": same}).text == same  # type: ignore[union-attr]


@pytest.mark.parametrize("kind", SAID)
def test_an_event_that_is_all_private_is_refused_with_the_reason(kind: str) -> None:
    """There is nothing to remember, and who wrote it is told."""
    given = {"event_id": "e", "tenant_id": "t", "kind": kind, **SAID[kind]}
    with pytest.raises(ValidationError) as refused:
        events.EVENT_ADAPTER.validate_python(given | {"text": " <private>4711</private> "})
    assert (
        events.explain(refused.value) == "text: is all private (<private>), so there is nothing to remember"
    )
    assert "4711" not in events.explain(refused.value)


def test_documents_and_tool_results_keep_what_looks_private() -> None:
    """They quote files, and come back as they were given."""
    given = {"event_id": "e", "tenant_id": "t"}
    body = "<private>a tag of a file</private>"
    document = events.DocumentEvent.model_validate(given | {"document_id": "d", "body": body})
    assert document.body == body
    assert events.ToolEvent.model_validate(given | {"tool": "cat", "output": body}).output == body


@pytest.mark.parametrize("kind", KINDS)
def test_golden_event_survives_parse_and_encode_unchanged(kind: str) -> None:
    """Every later version reads and writes these bodies unchanged."""
    golden = golden_event(kind)
    event = events.parse_event((GOLDEN / f"{kind}.json").read_bytes())
    assert isinstance(event, events.EVENT_MODELS[kind])
    assert json.loads(events.encode_event(event)) == golden
    assert events.parse_event(events.encode_event(event)) == event


def test_a_correction_says_on_the_wire_which_fields_are_emptied() -> None:
    """An absent field keeps the old value, so a field that is set and empty must be written."""
    given = {"memory_id": "0" * 32, "text": "x", "tags": [], "expires_at": None, "title": "", "pinned": False}
    event = events.CorrectEvent.model_validate({"event_id": "e", "tenant_id": "t"} | given)
    body = json.loads(events.encode_event(event))
    assert body == {"event_id": "e", "tenant_id": "t", "kind": "correct"} | given
    read = events.parse_event(events.encode_event(event))
    assert read.model_fields_set - {"kind"} == event.model_fields_set


def test_every_kind_has_a_golden_event_and_every_golden_event_a_kind() -> None:
    """A new kind needs a golden event."""
    assert sorted(path.stem for path in GOLDEN.glob("*.json")) == KINDS


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_field_is_refused_by_name(kind: str) -> None:
    """A misspelt field would otherwise be ignored (ops/decisions/0003)."""
    assert refusal_of(golden_event(kind) | {"importence": 1}).startswith("importence: ")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("field", ["event_id", "tenant_id", "kind"])
def test_event_without_identity_is_refused(kind: str, field: str) -> None:
    """Id, tenant and kind have no defaults."""
    event = golden_event(kind)
    del event[field]
    assert refusal_of(event)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("token", ["", "a.b", "a b", "*", ">", "a\n", "ü", "x" * 65, None, 7])
def test_tenant_that_is_no_token_is_refused(kind: str, token: object) -> None:
    """The tenant is a token of the subject, so it may contain no wildcard or dot."""
    assert refusal_of(golden_event(kind) | {"tenant_id": token}).startswith("tenant_id: ")


@pytest.mark.parametrize("token", ["a.b", "a b", "*", ">", "a\n", "ü", "x" * 65])
def test_session_that_is_no_token_is_refused(token: str) -> None:
    """The session is a token of the subject, too."""
    assert refusal_of(golden_event("message") | {"session_id": token}).startswith("session_id")


NAMES = [
    *((kind, field) for kind in KINDS for field in ("user_id", "project_id", "acl", "tags")),
    ("message", "speaker"),
    ("tool", "tool"),
    ("document", "document_id"),
    ("forget", "of_document"),
    ("forget", "of_user"),
    ("erase", "of_document"),
    ("erase", "of_user"),
]


@pytest.mark.parametrize("character", "\0\n\x1e\x1f\x7f\x85\x9f\u2028\u2029")
def test_a_control_character_in_a_name_is_refused_by_field(character: str) -> None:
    """Names are used in keys, filters, headers and logs; a separator could make one name look like two."""
    for kind, field in NAMES:
        for name in (f"a{character}*", character, f"a{character}"):
            value: object = [name] if field in ("acl", "tags") else name
            body = golden_event(kind) | {field: value}
            if field in ("of_document", "of_user"):
                body = {key: body[key] for key in ("kind", "event_id", "tenant_id", field)}
            refusal = refusal_of(body)
            assert refusal.startswith(field), (kind, field, refusal)
            assert "control characters" in refusal


def test_a_name_may_hold_every_letter_and_sign() -> None:
    """Names may use all scripts; only control characters are refused."""
    name = "Zoë O'Neil \\ 山田太郎 \u200d👩‍💻 * | = ,"
    event = events.parse_event(
        json.dumps(golden_event("message") | {"user_id": name, "acl": [name]}).encode()
    )
    assert (event.user_id, event.acl) == (name, [name])


@pytest.mark.parametrize("event_id", ["", "a b", "a\n", "é", "x" * 129])
def test_event_id_that_cannot_be_a_header_is_refused(event_id: str) -> None:
    """The id is sent in a header: printable ASCII without spaces, 1 to 128 characters."""
    assert refusal_of(golden_event("message") | {"event_id": event_id}).startswith("event_id: ")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"[]",
        b'"text"',
        b"null",
        b"\xff\xfe",
        b'{"kind":"gossip","event_id":"e","tenant_id":"t"}',
        b'{"kind":"message","event_id":"e","tenant_id":"t","role":"user","text":"lone \\ud800 surrogate"}',
        b'{"kind":"message","event_id":"e","tenant_id":"t","role":"user","text":"raw \xed\xa0\x80 half"}',
    ],
)
def test_body_that_is_no_event_is_refused(body: bytes) -> None:
    """A body that is not valid JSON in UTF-8 is refused."""
    with pytest.raises(ValidationError):
        events.parse_event(body)


def test_refusal_does_not_repeat_what_was_sent() -> None:
    """Reasons are logged and stored, so they never contain the body."""
    refusal = refusal_of(golden_event("message") | {"text": "sk-secret" * 20_000})
    assert "secret" not in refusal


@pytest.mark.parametrize("kind", KINDS)
def test_event_cannot_be_changed_after_it_was_made(kind: str) -> None:
    """Events are immutable."""
    event = events.parse_event((GOLDEN / f"{kind}.json").read_bytes())
    with pytest.raises(ValidationError, match="frozen"):
        event.tenant_id = "umbrella"


@pytest.mark.parametrize("kind", KINDS)
def test_subject_says_tenant_session_and_kind(kind: str) -> None:
    """Routing by subject needs no body."""
    golden = golden_event(kind)
    event = events.parse_event((GOLDEN / f"{kind}.json").read_bytes())
    session = golden.get("session_id", "-")
    assert events.subject_of(event) == f"helix.v1.events.acme.{session}.{kind}"


BASE = {"event_id": "e", "tenant_id": "t"}
TURN = {"kind": "message", "role": "user", "text": "x"}


@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"kind": "message", "role": "user", "txt": "x"}, "txt", "did you mean text?"),
        ({"kind": "memory", "text": ""}, "text", "must not be empty"),
        ({"kind": "message", "role": "user", "content": "x"}, "content", "did you mean text?"),
        ({"kind": "erase", "memory_id": "0" * 32}, "memory_id", "did you mean memory_ids?"),
        ({"kind": "correct", "memory_ids": [], "text": "x"}, "memory_ids", "did you mean memory_id?"),
        (
            {"kind": "document", "document_id": "d", "parts": [{"txt": ""}]},
            "parts.0.txt",
            "did you mean text?",
        ),
        ({"kind": "message", "role": "user"}, "text", "is missing"),
        (TURN | {"role": "bot"}, "role", "must be 'user', 'assistant', 'system' or 'tool'"),
        ({"kind": "memory", "text": "x", "salience": 4}, "salience", "must be at most 1.0"),
        (TURN | {"tags": ["a"] * 33}, "tags", "must have at most 32 entries, has 33"),
        (TURN | {"occurred_at": "2026-11-22T09:30:00"}, "occurred_at", "must name its offset"),
    ],
)
def test_a_refusal_names_the_field_and_suggests_the_nearest_one(
    body: dict[str, Any], field: str, said: str
) -> None:
    """`helix dlq ls` shows this reason to the publisher."""
    named, _, reason = refusal_of(BASE | body).partition(": ")
    assert named == field
    assert said in reason


def test_an_unknown_kind_is_named_with_the_known_ones() -> None:
    """The reason lists the known kinds."""
    assert refusal_of(BASE | {"kind": "mesage"}).startswith("kind: 'mesage' is unknown; known: 'message', ")
    assert refusal_of(BASE) == "kind: is missing; it says which event this is"
