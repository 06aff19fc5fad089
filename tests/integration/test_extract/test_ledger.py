"""The ledger in NATS: budgets by tenant and day, and several workers that add to one entry."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import pytest
from nats.aio.client import Client

from helix_cli.clients.endpoint_status import endpoint_status
from helix_extract.accounting.ledger import Ledger
from helix_extract.app import state_at_start
from helix_extract.settings import ExtractSettings
from helix_shared.broker import streams
from helix_shared.broker.provisioning.provision import provision
from helix_shared.errors import TemporaryError

pytestmark = pytest.mark.integration


class Days:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 2, 23, 59, tzinfo=UTC)

    def __call__(self) -> datetime:
        """The time."""
        return self.now


async def ledgers(client: Client, clock: Days, count: int = 1, *, daily_tokens: int = 1_000) -> list[Ledger]:
    """Ledgers of as many workers on one entry."""
    await provision(client.jetstream(), endpoint=True)
    return [
        Ledger(await client.jetstream().key_value(streams.LEDGER), daily_tokens=daily_tokens, clock=clock)
        for _ in range(count)
    ]


async def no_pause(_: float) -> None:
    """Nothing is waited for in a test without questions in progress."""
    raise AssertionError


async def test_a_tenant_spends_its_budget_and_no_other(nats_client: Client) -> None:
    """What is spent today is not there any more, to the last token."""
    (ledger,) = await ledgers(nats_client, Days())
    await ledger.add("answered", tenant_id="acme", tokens=300)
    assert await ledger.reserve("acme", 700, pause=no_pause)
    ledger.release("acme", 700)
    assert not await ledger.reserve("acme", 701, pause=no_pause)
    assert await ledger.reserve("umbrella", 1_000, pause=no_pause)


@pytest.mark.parametrize(("spent", "fits"), [(300, True), (600, False)])
async def test_a_budget_that_questions_in_progress_reserve_is_waited_for(
    nats_client: Client, spent: int, fits: bool
) -> None:
    """Two at once do not pass the limit together; the second is asked if the first spends less."""
    (ledger,) = await ledgers(nats_client, Days())
    assert await ledger.reserve("acme", 600, pause=no_pause)

    async def first_is_answered(_: float) -> None:
        await ledger.add("answered", tenant_id="acme", tokens=spent)
        ledger.release("acme", 600)

    assert await ledger.reserve("acme", 600, pause=first_is_answered) is fits


async def test_a_new_day_has_a_new_budget(nats_client: Client) -> None:
    """Days are those of UTC; a restart on the same day spends nothing twice."""
    clock = Days()
    first, second = await ledgers(nats_client, clock, 2)
    await first.add("answered", tenant_id="acme", tokens=900)
    assert not await second.reserve("acme", 200, pause=no_pause)
    clock.now = datetime(2026, 3, 3, 0, 0, tzinfo=UTC)
    assert await second.reserve("acme", 200, pause=no_pause)


async def test_no_count_of_workers_at_once_is_lost(nats_client: Client) -> None:
    """Two workers add ten times each; status shows the sums."""
    clock = Days()
    both = await ledgers(nats_client, clock, 2)
    await asyncio.gather(
        *(
            ledger.add("answered", tenant_id="acme", tokens=5, dropped={"quote": 2}, state={"model": "small"})
            for ledger in both
            for _ in range(10)
        )
    )
    status = await endpoint_status(nats_client.jetstream())
    assert status is not None
    assert (status.counts, status.tokens, status.dropped) == ({"answered": 20}, {"acme": 100}, {"quote": 40})
    assert "20 answers" in str(status)
    assert "quote 40" in str(status)


@pytest.mark.parametrize(("tenants", "shown"), [("", "HELIX_EXTRACT_TENANTS is empty"), ("acme", ": ok")])
async def test_a_worker_without_tenants_says_so(nats_client: Client, tenants: str, shown: str) -> None:
    """It is allowed to send nothing, which is the default; the status said that all is well."""
    (ledger,) = await ledgers(nats_client, Days())
    await ledger.add("starts", state=state_at_start(ExtractSettings(model="small", tenants=tenants)))
    assert shown in str(await endpoint_status(nats_client.jetstream()))


async def test_a_budget_that_cannot_be_read_is_asked_for_again(nats_client: Client) -> None:
    """Nobody knows that it is spent, so the window waits; what is counted is given up."""
    (ledger,) = await ledgers(nats_client, Days())
    await nats_client.close()
    with pytest.raises(TemporaryError, match="budget"):
        await ledger.reserve("acme", 600, pause=no_pause)
    await ledger.add("failed")


async def test_without_a_limit_everything_may_be_spent(nats_client: Client) -> None:
    """0 means no limit; without a worker there is no status."""
    assert await endpoint_status(nats_client.jetstream()) is None
    (ledger,) = await ledgers(nats_client, Days(), daily_tokens=0)
    assert await ledger.reserve("acme", 10**9, pause=no_pause)
