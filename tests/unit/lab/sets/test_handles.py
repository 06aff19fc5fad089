"""What the engine sees of a set holds none of the set's own ids."""

from helix_lab.sets.data import Document, EvaluationSet
from helix_lab.sets.handles import event_of, handle, tenant_of
from helix_memory.events import MemoryEvent, MessageEvent

DOCUMENTS = [
    Document("D1:1", "Hello", "", "", "t:S1", "Ann", "t"),
    Document("answer_7", "A passage", "Moon", "2023-05-08", "", "", ""),
]


def test_no_id_of_the_set_reaches_the_engine() -> None:
    """Benchmarks leak labels through ids; events carry opaque handles only."""
    turn, passage = (event_of(EvaluationSet("s", DOCUMENTS, [], {}), n) for n in range(2))
    assert isinstance(turn, MessageEvent)
    assert isinstance(passage, MemoryEvent)
    for event in (turn, passage):
        body = event.model_dump_json()
        assert not [leak for leak in ("D1:1", "answer_7", "t:S1") if leak in body]
    assert turn.event_id == handle("document", "s", "D1:1")
    assert turn.tenant_id == tenant_of("s", "t") != passage.tenant_id
