"""The time of storage that the header of an imported event claims."""

import pytest

from helix_memory import subjects
from helix_shared.broker.stored_at import checked_time


@pytest.mark.parametrize(
    "claimed", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-12:00", "2026-11-22", "yesterday", ""]
)
def test_a_header_that_is_no_moment_is_none(claimed: str) -> None:
    """Any publisher can set it: an error would end every worker that fetches the message."""
    assert checked_time({subjects.STORED_AT_HEADER: claimed}) is None
