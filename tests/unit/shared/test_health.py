"""What a process says about itself over HTTP."""

import asyncio
import time
import urllib.error
import urllib.request

import pytest

from helix_shared.broker.server import free_port
from helix_shared.telemetry.health import STARTING, Health, beat
from helix_shared.telemetry.metrics import serve_metrics


def asked(url: str) -> tuple[int, str]:
    """Status and body of a GET."""
    try:
        with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310  an address of this test
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


@pytest.fixture
def served() -> tuple[Health, str]:
    """Health that is served on a free port, and its address."""
    health, port = Health(hang_seconds=1.5), free_port()
    serve_metrics(port, health)
    return health, f"http://127.0.0.1:{port}"


def test_a_process_is_ready_between_its_start_and_its_end(served: tuple[Health, str]) -> None:
    """Alive all the time; each reason has its line; metrics are served beside."""
    health, url = served
    assert asked(f"{url}/readyz") == (503, "starting: the process is starting\n")
    health.set_problem(STARTING, "")
    assert asked(f"{url}/readyz") == (200, "ok\n")
    health.set_problem("nats", "not connected")
    health.set_problem("blocked", "another schema")
    assert asked(f"{url}/readyz") == (503, "nats: not connected\nblocked: another schema\n")
    health.set_problem("nats", "")
    health.set_problem("blocked", "")
    health.stop()
    assert asked(f"{url}/readyz") == (503, "stopping: the process is ending\n")
    assert asked(f"{url}/healthz") == (200, "ok\n")
    assert "helix_messages_total" in asked(f"{url}/metrics")[1]


async def test_a_process_whose_event_loop_hangs_is_not_alive(served: tuple[Health, str]) -> None:
    """The answer comes from another thread; a loop that runs again makes the process alive."""
    health, url = served
    beating = asyncio.create_task(beat(health))
    await asyncio.sleep(0)
    assert asked(f"{url}/healthz")[0] == 200
    time.sleep(1.8)  # noqa: ASYNC251  the event loop hangs
    status, body = asked(f"{url}/healthz")
    assert (status, body.startswith("the event loop has not run for")) == (503, True)
    async with asyncio.timeout(10):
        while (await asyncio.to_thread(asked, f"{url}/healthz"))[0] != 200:  # noqa: ASYNC110  an answer has no event
            await asyncio.sleep(0.05)
    beating.cancel()


def test_other_machines_reach_the_port_only_where_a_setting_says_so() -> None:
    """127.0.0.2 is this machine, but not the address that the default listens on."""
    ports = {host: free_port() for host in ("127.0.0.1", "0.0.0.0")}  # noqa: S104  what the setting allows
    for host, port in ports.items():
        serve_metrics(port, Health(), host=host)
    assert asked(f"http://127.0.0.2:{ports['0.0.0.0']}/healthz") == (200, "ok\n")  # noqa: S104  as above
    with pytest.raises(urllib.error.URLError):
        asked(f"http://127.0.0.2:{ports['127.0.0.1']}/healthz")
