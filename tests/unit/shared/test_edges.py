"""What travels with a batch besides its rows."""

import json

import pyarrow as pa
import pytest

from helix_shared import edges
from helix_shared.edges import Origin


@pytest.mark.parametrize("keeps", [(), ("categories", "pinned")])
def test_an_origin_is_read_as_it_was_written(keeps: tuple[str, ...]) -> None:
    """Also with the columns that a correction keeps."""
    origin = Origin("memories", "acme", "e1", "correct", 7, model="mini@abc", keeps=keeps)
    read, rows = edges.decode(edges.encode(origin, [], edges.memories_schema(8)))
    assert (read, rows.num_rows) == (origin, 0)


def test_a_message_that_keeps_nothing_can_be_read_by_an_older_writer() -> None:
    """A field that the reader does not know would be dead-lettered in a rolling upgrade."""
    body = edges.encode(Origin("memories", "acme", "e1", "message", 7), [], edges.memories_schema(8))
    with pa.ipc.open_stream(body) as reader:
        header = json.loads(reader.schema.metadata[b"helix"])
    assert "keeps" not in header
