from datetime import UTC, datetime

import pytest

from helix_cli.sources.event_options import one_event
from helix_memory import events
from helix_shared.errors import InvalidInputError

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def event(**given: object) -> events.Event:
    """The event of these options."""
    kind, role = str(given.pop("kind", "message")), str(given.pop("role", "user"))
    return one_event(given, tenant="acme", kind=kind, role=role, now=NOW).event


def test_an_event_without_a_tenant_names_the_option() -> None:
    """As every other command that needs one."""
    with pytest.raises(InvalidInputError, match="--tenant: is missing"):
        one_event({"text": "hello"}, tenant="", kind="message", role="user", now=NOW)


def test_options_make_a_message_of_now_and_the_same_options_the_same_id() -> None:
    """A repeated command has the same id; in another session it has another."""
    first, second = event(text="hello", session_id="s1"), event(text="hello", session_id="s1")
    assert isinstance(first, events.MessageEvent)
    assert (first.text, first.session_id, first.occurred_at) == ("hello", "s1", NOW)
    assert first.event_id == second.event_id
    assert first.event_id != event(text="hello", session_id="s2").event_id
    assert event(text="hello", event_id="mine").event_id == "mine"


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "erase", "set": ["of_user=ann"]},
        {"kind": "forget", "set": ["of_session=s1"]},
        {"kind": "forget", "set": ["of_session=s1", "restore=true"]},
        {"kind": "feedback", "set": [f'helpful=["{"a" * 32}"]']},
        {"kind": "correct", "text": "Tuesday.", "set": [f"memory_id={'a' * 32}"]},
        {"kind": "session", "session_id": "s1", "set": ["phase=started"]},
        {"kind": "document", "set": ["document_id=notes", "deleted=true"]},
    ],
)
def test_a_repeated_act_takes_effect_again(given: dict[str, object]) -> None:
    """A later erasure applies to what was published since; an explicit id makes it a duplicate."""
    assert event(**given).event_id != event(**given).event_id
    assert event(**given, event_id="mine").event_id == "mine"


def test_another_time_makes_another_event() -> None:
    """An explicit time is part of the id; the default, the current time, is not."""
    first, second = (
        event(text="Headache.", set=[f"occurred_at=2026-11-{day}T08:00:00Z"]) for day in (10, 20)
    )
    assert first.event_id != second.event_id


def test_the_text_of_a_document_is_its_body() -> None:
    """`--text` fills the field of the kind."""
    made = event(kind="document", text="# Notes", title="Notes", set=["document_id=notes"])
    assert isinstance(made, events.DocumentEvent)
    assert made.body == "# Notes"


def test_a_missing_field_without_an_option_names_the_one_that_gives_it() -> None:
    """`--text` is no way to give the id of a document."""
    with pytest.raises(InvalidInputError, match="is missing; give it with --set document_id=VALUE"):
        event(kind="document", text="# Notes", title="Notes")
    with pytest.raises(InvalidInputError) as caught:
        event(kind="memory", set=["source=x"])
    assert "--set" not in caught.value.reason


def test_set_fills_every_field_and_reads_json() -> None:
    """Numbers and lists are read as JSON, other values as text."""
    made = event(kind="tool", set=["tool=bash", "command=make test", "exit_status=2", 'tags=["ci"]'])
    assert isinstance(made, events.ToolEvent)
    assert (made.tool, made.command, made.exit_status, made.tags) == ("bash", "make test", 2, ["ci"])


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"text": "hi", "type": "decision"}, "type"),
        ({"text": "hi", "session_id": "a b"}, "session_id"),
        ({"text": "hi", "role": "boss"}, "role"),
        ({"text": "hi", "set": ["nonsense"]}, "--set"),
        ({"kind": "erase", "set": ["of_user=ada", "of_session=s1"]}, "event"),
    ],
)
def test_options_that_make_no_event_name_the_field(given: dict[str, object], field: str) -> None:
    """A field that the kind does not have is an error."""
    with pytest.raises(InvalidInputError) as caught:
        event(**given)
    assert caught.value.field == field
