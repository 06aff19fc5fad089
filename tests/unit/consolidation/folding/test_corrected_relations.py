"""What a correction closes: what the memory that it corrects had closed, if it likely replaces that, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from helix_consolidation.stores.shard import Shard
from helix_memory.events import UndoEvent
from tests.unit.consolidation.conftest import Bench, Stream, lifecycle
from tests.unit.consolidation.slots import current, decide_likely, ids, said

ID = ids(4)


@pytest.fixture
def likely(tmp_path: Path) -> Iterator[Bench]:
    """A shard in which some replacements are likely, and close nothing."""
    bench = Bench(tmp_path, Shard.open(tmp_path, maintain_every=64, decide=decide_likely))
    yield bench
    bench.shard.close()


def corrected(stream: Stream, sequence: int, text: str, earlier: int) -> Any:
    """The memories message of a correction of the memory of event `earlier`."""
    return said(stream, sequence, text, corrects=ID[earlier])


def test_what_the_first_version_closed_stays_closed(likely: Bench, stream: Stream) -> None:
    """Port 80 was replaced by 443, which was a slip for 8443; and again where the correction is corrected."""
    likely.apply(said(stream, 1, "port 80"), said(stream, 2, "port 443"))
    likely.apply(corrected(stream, 3, "port 8443 likely", 2))
    assert current(likely) == {"port 8443 likely"}
    assert likely.rows()[ID[1]]["superseded_by"] == ID[3]
    likely.apply(corrected(stream, 4, "port 9443 likely", 3))
    assert current(likely) == {"port 9443 likely"}


def test_without_the_correction_the_first_version_closes_it(likely: Bench, stream: Stream) -> None:
    """The correction is undone."""
    likely.apply(said(stream, 1, "port 80"), said(stream, 2, "port 443"))
    likely.apply(
        corrected(stream, 3, "port 8443 likely", 2),
        lifecycle(UndoEvent(event_id="x", tenant_id="acme", memory_id=ID[3]), 4),
    )
    assert current(likely) == {"port 443"}


@pytest.mark.parametrize(
    ("second", "third", "holds"),
    [
        ("host 443", "port 8443 likely", {"port 80", "port 8443 likely"}),
        ("port 443", "host 8443 likely", {"port 80", "host 8443 likely"}),
    ],
    ids=["the first version closed nothing", "the correction replaces nothing"],
)
def test_a_correction_closes_nothing_else(
    likely: Bench, stream: Stream, second: str, third: str, holds: set[str]
) -> None:
    """A likely replacement alone is not sure enough."""
    likely.apply(said(stream, 1, "port 80"), said(stream, 2, second), corrected(stream, 3, third, 2))
    assert current(likely) == holds
