import pytest

from helix_query.scheduling import tenant_limits
from helix_query.scheduling.tenant_limits import TenantLimits
from helix_shared.errors import OverloadedError


class Clock:
    """A clock that the test moves."""

    now = 100.0

    def __call__(self) -> float:
        """The moment."""
        return self.now


def limits(clock: Clock, *, in_flight: int = 0, rate: float = 0.0, burst: int = 2) -> TenantLimits:
    """Limits on a clock of the test."""
    return TenantLimits(in_flight=in_flight, rate=rate, burst=burst, clock=clock)


def call(given: TenantLimits, tenant: str = "acme", count: int = 1) -> None:
    """One call that ends at once."""
    with given.admitted(tenant, count):
        pass


def test_a_tenant_may_make_a_burst_and_then_as_many_calls_as_its_rate() -> None:
    """A refusal says when the next call fits; another tenant is not refused."""
    clock = Clock()
    given = limits(clock, rate=4.0)
    call(given)
    call(given)
    with pytest.raises(OverloadedError) as refused:
        call(given)
    assert refused.value.delay_seconds == pytest.approx(0.25)
    call(given, "beta")
    clock.now += 0.25
    call(given)
    with pytest.raises(OverloadedError):
        call(given)


def test_a_batch_counts_as_its_calls_and_one_larger_than_the_burst_empties_the_bucket() -> None:
    """Else a batch would go around the limit, or never fit."""
    clock = Clock()
    given = limits(clock, rate=1.0)
    call(given, count=16)
    with pytest.raises(OverloadedError) as refused:
        call(given, count=2)
    assert refused.value.delay_seconds == pytest.approx(2.0)


def test_calls_at_once_are_limited_and_free_their_slots() -> None:
    """Also after an error."""
    given = limits(Clock(), in_flight=2)
    with given.admitted("acme", 2):
        with pytest.raises(OverloadedError, match="2 calls at once"):
            call(given)
        call(given, "beta")
    with pytest.raises(KeyError), given.admitted("acme", 2):
        raise KeyError
    call(given, count=2)


def test_without_limits_nothing_is_refused() -> None:
    """The control: 0 is no limit."""
    given = limits(Clock())
    for _ in range(1_000):
        call(given)


def test_idle_tenants_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names without an end must not fill the memory; a tenant that used up its burst stays known."""
    monkeypatch.setattr(tenant_limits, "MOST_TENANTS", 100)
    clock = Clock()
    given = limits(clock, rate=1.0)
    call(given, "busy", 2)
    for number in range(1_000):
        call(given, f"t{number}")
        clock.now += 0.0001
    with pytest.raises(OverloadedError):
        call(given, "busy", 2)
    clock.now += 10
    call(given, "new")
    assert len(given._uses) == 1
