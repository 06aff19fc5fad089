"""What travels with a batch besides its rows."""

import pytest

from helix_shared import edges
from helix_shared.edges import Origin


@pytest.mark.parametrize("keeps", [(), ("categories", "pinned")])
def test_an_origin_is_read_as_it_was_written(keeps: tuple[str, ...]) -> None:
    """Also with the columns that a correction keeps."""
    origin = Origin("memories", "acme", "e1", "correct", 7, model="mini@abc", keeps=keeps)
    read, rows = edges.decode(edges.encode(origin, [], edges.memories_schema(8)))
    assert (read, rows.num_rows) == (origin, 0)
