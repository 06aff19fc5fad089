"""The memories of an event and their context."""

from datetime import UTC, datetime, timedelta

from helix_ingest.extraction.drafts import drafts_of, tool_text
from helix_ingest.extraction.values import LoggedEvent
from helix_memory.events import (
    CorrectEvent,
    DocumentEvent,
    DocumentPart,
    Event,
    MemoryEvent,
    MessageEvent,
    SessionEvent,
    ToolEvent,
)

MONDAY = datetime(2026, 9, 7, 9, 0, tzinfo=UTC)


def words(text: str) -> int:
    """A token is a word in these tests."""
    return len(text.split())


def logged(event: Event, sequence: int) -> LoggedEvent:
    """An event in the log."""
    return LoggedEvent(event, sequence, MONDAY + timedelta(minutes=sequence))


def turn(n: int, text: str, *, speaker: str = "Mira") -> LoggedEvent:
    """A turn of session s."""
    event = MessageEvent(
        event_id=f"e{n}", tenant_id="t", session_id="s", role="user", speaker=speaker, text=text
    )
    return logged(event, n)


def test_turn_is_one_memory_with_the_two_turns_before_it_as_context() -> None:
    """Context is stored beside the text and is not part of it."""
    before = [turn(1, "one"), turn(2, "two"), turn(3, "three")]
    own = drafts_of(turn(4, "four words are here"), before, most_tokens=50, count_tokens=words)[0]
    assert own.text == "four words are here"
    assert own.context == "Mira: two\nMira: three"
    assert own.revision_sequence == 4
    assert own.window == "", "an open context has no vector of its own yet"


def test_next_turn_completes_the_context_of_the_turn_before_it() -> None:
    """The second revision is a complete row of the same memory, with two turns before and one after."""
    before = [turn(1, "one"), turn(2, "two"), turn(3, "three")]
    drafts = drafts_of(turn(4, "four"), before, most_tokens=50, count_tokens=words)
    completed = drafts[1]
    assert completed.logged.sequence == 3
    assert completed.revision_sequence == 4
    assert completed.context == "Mira: one\nMira: two\nMira: four"
    assert completed.window == "Mira: one\nMira: two\nMira: three\nMira: four"


def test_a_derived_statement_stands_in_its_own_place_between_its_neighbours() -> None:
    """An earlier turn with the same words stays as it was said."""
    before = [
        turn(1, "Is the van ready?", speaker="Ole"),
        turn(2, "yes"),
        turn(3, "Do you want winter tyres on it?", speaker="Ole"),
        turn(4, "yes"),
    ]
    drafts = drafts_of(turn(5, "Noted.", speaker="Ole"), before, most_tokens=50, count_tokens=words)
    statement = next(draft for draft in drafts if draft.derived_from)
    assert statement.window.splitlines() == [
        "Mira: yes",
        "Ole: Do you want winter tyres on it?",
        "Mira: Do you want winter tyres on it? yes",
        "Ole: Noted.",
    ]


def test_a_correction_by_its_value_alone_also_says_what_it_corrects() -> None:
    """Alone, "make that 8" answers no question of a later session."""
    before = [turn(1, "jobs get at most 5 attempts", speaker="bot")]
    drafts = drafts_of(turn(2, "make that 8"), before, most_tokens=50, count_tokens=words)
    assert [draft.text for draft in drafts if draft.logged.sequence == 2] == [
        "make that 8",
        "jobs get at most 5 attempts. make that 8",
    ]
    for other in ("make that 8, the retry limit of the jobs in the nightly queue", "eight is fine"):
        drafts = drafts_of(turn(2, other), before, most_tokens=50, count_tokens=words)
        assert [draft.text for draft in drafts if draft.logged.sequence == 2] == [other]


def test_a_corrected_answer_has_its_question() -> None:
    """The two numbers alone would not say of what there are ten."""
    before = [turn(1, "How many people?", speaker="bot"), turn(2, "8")]
    drafts = drafts_of(turn(3, "make that 10"), before, most_tokens=50, count_tokens=words)
    statement = next(one for one in drafts if one.derived_from and one.logged.sequence == 3)
    assert statement.text == "How many people? 8. make that 10"
    assert statement.quotes == ("e1", "e2")


def test_end_of_session_completes_the_last_turn() -> None:
    """At the end of a session the context has only the turns before."""
    end = logged(SessionEvent(event_id="x", tenant_id="t", session_id="s", phase="ended"), 9)
    drafts = drafts_of(end, [turn(1, "one"), turn(2, "two")], most_tokens=50, count_tokens=words)
    assert [(d.logged.sequence, d.revision_sequence, d.context) for d in drafts] == [(2, 9, "Mira: one")]


def test_long_turn_becomes_several_memories_whose_offsets_lead_back_to_it() -> None:
    """Pieces cover the text and do not overlap."""
    text = "\n\n".join(f"Paragraph {n} " + "says many things " * 4 for n in range(6))
    event = MessageEvent(event_id="e", tenant_id="t", session_id="s", role="assistant", text=text)
    drafts = drafts_of(logged(event, 1), [], most_tokens=20, count_tokens=words)
    assert [d.piece for d in drafts] == list(range(len(drafts)))
    assert len(drafts) > 3
    assert all(text[d.char_start : d.char_end] == d.text for d in drafts)
    assert " ".join(" ".join(d.text for d in drafts).split()) == " ".join(text.split())
    assert drafts[1].context == f"{drafts[0].text}\n{drafts[2].text}"


def test_tool_call_becomes_one_text_of_what_ran_where_and_how_it_ended() -> None:
    """The exact error can be searched."""
    event = ToolEvent(
        event_id="e", tenant_id="t", session_id="s", tool="bash", command="pytest -x", file_path="src/a.py",
        exit_status=1, error="E   KeyError: 'x'",
    )  # fmt: skip
    assert tool_text(event) == "bash: pytest -x\nfile: src/a.py\nexit status: 1\nE   KeyError: 'x'"
    draft = drafts_of(logged(event, 1), [turn(0, "run the tests")], most_tokens=50, count_tokens=words)[0]
    assert (draft.title, draft.context) == ("src/a.py", "Mira: run the tests")


def test_document_is_cut_at_its_headings_and_each_chunk_knows_its_path() -> None:
    """The section's path is context; the document's title is the title."""
    body = "# Guide\n\n" + "intro words here " * 5 + "\n\n## Install\n\n" + "run the thing now " * 5
    fields = {"event_id": "e", "tenant_id": "t", "document_id": "d", "title": "Guide", "body": body}
    event = DocumentEvent.model_validate(fields | {"media_type": "text/markdown"})
    drafts = drafts_of(logged(event, 1), [], most_tokens=25, count_tokens=words)
    assert [d.title for d in drafts] == ["Guide", "Guide"]
    assert drafts[1].text.startswith("## Install")
    assert drafts[1].context.startswith("Guide > Install\n")


def test_document_in_parts_keeps_its_headings() -> None:
    """Parts are sections that the publisher cut."""
    parts = [DocumentPart(heading="A", text="first"), DocumentPart(heading="B", text="second")]
    event = DocumentEvent(event_id="e", tenant_id="t", document_id="d", title="T", parts=parts)
    drafts = drafts_of(logged(event, 1), [], most_tokens=25, count_tokens=words)
    assert [(d.text, d.context) for d in drafts] == [("first", "A\nsecond"), ("second", "B\nfirst")]


def test_document_tombstone_and_session_start_make_no_memory() -> None:
    """Their message has no rows."""
    tombstone = DocumentEvent(event_id="e", tenant_id="t", document_id="d", deleted=True)
    start = SessionEvent(event_id="x", tenant_id="t", session_id="s", phase="started")
    for event in (tombstone, start):
        assert drafts_of(logged(event, 1), [], most_tokens=25, count_tokens=words) == []


def test_explicit_memory_and_correction_keep_their_text() -> None:
    """They have no context from other events."""
    memory = MemoryEvent(event_id="e", tenant_id="t", text="The port is 8443.", title="port")
    correction = CorrectEvent(event_id="f", tenant_id="t", text="The port is 9443.", memory_id="0" * 32)
    for event in (memory, correction):
        drafts = drafts_of(logged(event, 1), [], most_tokens=25, count_tokens=words)
        assert [d.text for d in drafts] == [event.text]
