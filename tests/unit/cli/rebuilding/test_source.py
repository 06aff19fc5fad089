"""Sources of events, one after another, and the list of refused ones."""

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from helix_cli.rebuilding.refusals import FILE, Refusals
from helix_cli.rebuilding.source import Joined, Recorded
from helix_shared.broker.log import LoggedMessage


def _recorded(name: str, *sequences: int) -> Recorded:
    events = [LoggedMessage(name, one, datetime(2026, 5, 1, tzinfo=UTC), b"{}") for one in sequences]
    return Recorded(name, lambda: iter(events))


def test_an_archive_is_read_first_and_the_log_goes_on_where_it_ends() -> None:
    """In the order of the log, each event once, gaps included."""
    joined = Joined(_recorded("archive", 2, 3, 5), _recorded("log", 5, 6, 9))

    async def read(until: int) -> list[tuple[str, int]]:
        found: list[tuple[str, int]] = []
        sequence = 0
        while batch := await joined.after(sequence, until=until, most=2):
            found += [(one.subject, one.sequence) for one in batch]
            sequence = batch[-1].sequence
        return found

    every = [("archive", 2), ("archive", 3), ("archive", 5), ("log", 6), ("log", 9)]
    assert asyncio.run(read(9)) == every
    assert asyncio.run(read(6)) == every[:4]
    # again from an earlier event, as after a kill
    assert asyncio.run(read(9)) == every
    assert asyncio.run(joined.end()) == 9
    assert joined.name == "archive, log"


def test_refused_events_are_noted_once_and_a_cut_line_counts_nothing(tmp_path: Path) -> None:
    """A command that continues reads the list; the event of a line that a kill has cut is read again."""
    refusals = Refusals(tmp_path)
    assert refusals.noted() == {}
    refusals.add("ingest", 3, "text: is empty")
    refusals.add("ingest", 3, "text: is empty")
    refusals.add("consolidation", 4, "")
    with (tmp_path / FILE).open("a") as file:
        file.write('["ingest", 9, "te')
    assert refusals.noted() == {("ingest", 3): "text: is empty", ("consolidation", 4): ""}
