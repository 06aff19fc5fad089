"""Tables of memories without a question."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from rich.console import Console

from helix_cli.commands.common import lists
from helix_memory.recall.v1 import recall_pb2


def shown(memory: recall_pb2.Memory) -> str:
    """The row of a memory, in the time of Berlin."""
    console = Console(width=120, color_system=None)
    with console.capture() as captured:
        console.print(lists.memory_table([memory], ZoneInfo("Europe/Berlin"), full=True))
    return captured.get().splitlines()[1].strip()


def test_the_date_of_a_list_is_that_of_its_order() -> None:
    """When it was said; the day that it speaks of stands behind the text, if it is another one."""
    memory = recall_pb2.Memory(memory_id="a" * 32, type="episodic", text="The wedding is on 12 June.")
    memory.occurred_at.FromDatetime(datetime(2026, 11, 4, 23, 30, tzinfo=UTC))
    assert shown(memory).split()[:3] == ["aaaaaaaa", "2026-11-05", "episodic"]
    assert shown(memory).endswith("The wedding is on 12 June.")
    memory.event_start.FromDatetime(datetime(2027, 6, 12, tzinfo=UTC))
    memory.event_end.FromDatetime(datetime(2027, 6, 13, tzinfo=UTC))
    assert "2026-11-05" in shown(memory)
    assert shown(memory).endswith("The wedding is on 12 June. (about 2027-06-12)")
