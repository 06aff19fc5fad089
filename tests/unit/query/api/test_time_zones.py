"""Time zones by name: which are read, which are refused, and what a refusal costs."""

from __future__ import annotations

import sys
import time
import zoneinfo
from collections.abc import Callable, Iterator
from datetime import UTC

import pytest

from helix_memory import limits
from helix_query.api.time_zones import zone_of
from helix_shared.errors import InvalidInputError

TIMES = 5


@pytest.fixture
def no_database(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine without a time zone database and without the package that brings one."""
    for name in ("tzdata", *(one for one in sys.modules if one.startswith("tzdata."))):
        monkeypatch.setitem(sys.modules, name, None)
    zoneinfo.ZoneInfo.clear_cache()
    zoneinfo.reset_tzpath(to=())
    yield
    zoneinfo.reset_tzpath()


def refused(name: str) -> str:
    """Why a name is refused."""
    with pytest.raises(InvalidInputError) as error:
        zone_of(name)
    assert error.value.field == "time_zone"
    return error.value.reason


def fastest(run: Callable[[], object]) -> float:
    """The least seconds of some runs."""
    found = []
    for _ in range(TIMES):
        began = time.perf_counter()
        run()
        found.append(time.perf_counter() - began)
    return min(found)


def test_a_name_of_the_database_is_read() -> None:
    """No name is no zone."""
    assert str(zone_of("Europe/Berlin")) == "Europe/Berlin"
    assert (zone_of(""), zone_of("UTC"), zone_of("Etc/UTC")) == (None, UTC, UTC)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Europe/Nowhere", "'Europe/Nowhere' is not in the IANA database"),
        ("Europe", "'Europe' is not in the IANA database"),
        ("../etc/passwd", "must be a name of the IANA database"),
        ("a" * (limits.TIME_ZONE_CHARACTERS + 1), "must have at most"),
    ],
)
def test_another_name_is_refused(name: str, reason: str) -> None:
    """Also a folder of the database."""
    assert refused(name).startswith(reason)


def test_a_refusal_does_not_list_the_database() -> None:
    """Requests are read on the event loop: each unknown name stopped all other calls for that time."""
    assert 4 * fastest(lambda: refused("Europe/Nowhere")) < fastest(zoneinfo.available_timezones)


@pytest.mark.usefixtures("no_database")
def test_a_server_without_a_database_says_so() -> None:
    """The names that need none are still read."""
    assert "the server has no time zone database" in refused("Europe/Vienna")
    assert zone_of("UTC") is UTC
