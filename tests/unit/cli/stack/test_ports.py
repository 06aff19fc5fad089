"""Ports that a user names, and those that a stack would choose by itself."""

from itertools import count

import pytest

from helix_cli.home.addresses import USUAL_NATS_PORT, USUAL_QUERY_PORT
from helix_cli.stack import ports
from helix_cli.stack.ports import StackPorts, WantedPorts, choose_ports
from helix_shared.errors import InvalidInputError

COPIES = {"query": 1, "forwarder": 1, "deep": 1, "gateway": 1}


@pytest.fixture(autouse=True)
def all_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which nothing listens; free ports are given from 20000 on."""
    others = count(20_000)
    monkeypatch.setattr(ports, "is_free", lambda _: True)
    monkeypatch.setattr(ports, "free_port", lambda: next(others))


def distinct(found: StackPorts) -> bool:
    """Whether no port is chosen twice."""
    every = [found.nats, *found.query, *found.access, found.deep, found.gateway]
    return len(set(every)) == len(every)


def test_a_named_port_is_left_to_whom_it_is_named_for() -> None:
    """`helix up --nats-port 7461`: the query service, whose usual port it is, takes another one."""
    found = choose_ports(WantedPorts(nats=USUAL_QUERY_PORT), COPIES)
    assert (found.nats, found.query) == (USUAL_QUERY_PORT, (20_000,))
    found = choose_ports(WantedPorts(query=USUAL_NATS_PORT, gateway=20_000), COPIES)
    assert (found.query, found.gateway) == ((USUAL_NATS_PORT,), 20_000)
    assert distinct(found)


def test_no_service_listens_where_metrics_do() -> None:
    """`HELIX_KG_METRICS_PORT=7461`; who names such a port for a service is told."""
    found = choose_ports(WantedPorts(), COPIES, reserved=[USUAL_QUERY_PORT, 20_000])
    assert found.query == (20_001,)
    assert distinct(found)
    with pytest.raises(InvalidInputError, match="--nats-port: port 9100 is wanted twice"):
        choose_ports(WantedPorts(nats=9_100), COPIES, reserved=[9_100])
