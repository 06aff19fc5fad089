"""Fields that a reader found become an event."""

from helix_memory.events import DocumentEvent
from helix_shared.sources.source_event import SourceEvent, from_fields


def test_lone_surrogates_are_replaced_at_any_depth() -> None:
    """Half a surrogate pair in a part or a tag does not refuse the document."""
    fields = {
        "kind": "document",
        "event_id": "e",
        "tenant_id": "t",
        "document_id": "d",
        "parts": [{"heading": "h", "text": "a \ud800 b"}],
        "tags": ["x\ud83d"],
    }
    made = from_fields("file", fields)
    assert isinstance(made, SourceEvent)
    assert isinstance(made.event, DocumentEvent)
    assert (made.event.parts[0].text, made.event.tags) == ("a ? b", ["x?"])
