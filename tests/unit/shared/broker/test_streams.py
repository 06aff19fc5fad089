"""Settings of streams."""

from helix_shared.broker.streams import MIB, wanted_streams


def test_streams_set_aside_little_enough_for_a_disk_with_a_gibibyte_free() -> None:
    """NATS reserves the `max_bytes` of each stream, out of three quarters of what is free."""
    reserved = sum(max(0, one.max_bytes or 0) for one in wanted_streams())
    assert 0 < reserved <= 640 * MIB
