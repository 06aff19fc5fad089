from datetime import UTC, datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as some

from helix_shared.moments import microseconds, moment_of


def test_a_moment_is_counted_in_microseconds_since_1970() -> None:
    """By hand, before 1970 and in another time zone too."""
    assert microseconds(datetime(1970, 1, 2, 0, 0, 0, 1, tzinfo=UTC)) == 86_400_000_001
    assert microseconds(datetime(1969, 12, 31, 23, 59, 59, tzinfo=UTC)) == -1_000_000
    assert microseconds(datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))) == 0


@given(some.datetimes(timezones=some.just(UTC)))
def test_no_microsecond_is_lost_by_converting_there_and_back(moment: datetime) -> None:
    """Which a float of seconds cannot promise."""
    assert moment_of(microseconds(moment)) == moment
