"""Audit records of commands, in a real stream."""

import asyncio
import getpass
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from helix_cli.clients.auditing import CommandRecord, RecordFilter, newest_records, recorded
from helix_cli.clients.broker import connected_client, provision_server
from helix_cli.home.addresses import Server
from helix_memory import subjects
from helix_memory.transport.publisher import Publisher
from helix_shared.audit.record import AuditRecord
from helix_shared.broker.audit_messages import audit_messages
from helix_shared.broker.server import NatsServer
from helix_shared.errors import InvalidInputError, TemporaryError

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """NATS with its streams."""
    with NatsServer(tmp_path_factory.mktemp("nats")) as running:
        provision_server(running.url)
        yield Server(running.url)


def last_record(server: Server) -> AuditRecord:
    """The newest record."""
    [found] = records(server, RecordFilter(), limit=1)
    return found


def records(server: Server, only: RecordFilter, *, limit: int) -> list[AuditRecord]:
    """The newest records, oldest first."""

    async def read() -> list[AuditRecord]:
        async with connected_client(server.address) as client:
            return await newest_records(client, only, limit=limit)

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("error", "accepted", "outcome"),
    [
        (InvalidInputError("memory_ids", "is no id"), "", "INVALID_ARGUMENT"),
        (TemporaryError("NATS does not answer"), "", "UNAVAILABLE"),
        (TemporaryError("it is not applied after 60 s"), "OK", "OK"),
        (KeyboardInterrupt(), "", "CANCELLED"),
        (BrokenPipeError(), "", "INTERNAL"),
    ],
)
def test_a_command_that_fails_is_recorded_with_what_was_accepted(
    server: Server, error: BaseException, accepted: str, outcome: str
) -> None:
    """An erasure that the command does not see the end of is carried out all the same."""

    def command() -> None:
        with recorded(server, "cli.erase", CommandRecord(["acme"])) as record:
            record.outcome = accepted
            raise error

    with pytest.raises(type(error)):
        command()
    found = last_record(server)
    assert (found.call, found.tenant_id, found.outcome) == ("cli.erase", "acme", outcome)


def test_a_user_without_a_name_is_recorded_by_number(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, whose system has no name for its user; the command does not fail."""

    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(getpass, "getuser", unknown)
    with recorded(server, "cli.export", CommandRecord([])) as record:
        record.tenants, record.count = ["acme"], 3
    found = last_record(server)
    assert (found.credential, found.outcome, found.count) == (f"os:{os.getuid()}", "OK", 3)


def test_each_tenant_is_told_its_own_count(server: Server) -> None:
    """A record of acme does not tell how much others have."""
    with recorded(server, "cli.export", CommandRecord([])) as record:
        record.tenants, record.count = ["acme", "umbrella"], {"acme": 3, "umbrella": 5}
    for tenant, count in (("acme", 3), ("umbrella", 5)):
        [found] = records(server, RecordFilter(tenant=tenant), limit=1)
        assert (found.tenant_id, found.count) == (tenant, count)


def test_a_record_that_cannot_be_written_fails_no_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing listens there; the command says so."""
    with recorded(Server("nats://127.0.0.1:9"), "cli.export", CommandRecord([])):
        pass
    assert "not in the audit stream" in capsys.readouterr().err


def test_only_records_of_a_time_are_read(server: Server) -> None:
    """Of one in the future there are none; of one between two records the later one."""
    for number in range(2):
        if number:
            # times of records are whole milliseconds
            time.sleep(0.01)
            between = datetime.now(UTC)
            time.sleep(0.01)
        with recorded(server, "cli.export", CommandRecord(["span"])) as record:
            record.count = number
    found = records(server, RecordFilter(tenant="span", since=between), limit=10)
    assert [one.count for one in found] == [1]
    assert records(server, RecordFilter(tenant="span", since=between + timedelta(days=1)), limit=10) == []
    assert len(records(server, RecordFilter(tenant="span"), limit=10)) == 2


def test_records_of_calls_push_out_none_of_erasures(server: Server) -> None:
    """A full stream drops its oldest message; both streams are listed together, by time."""

    async def work() -> None:
        async with connected_client(server.address) as client:
            jetstream = client.jetstream()
            calls = (await jetstream.stream_info(subjects.CALLS_STREAM)).config
            await jetstream.update_stream(replace(calls, max_bytes=64 * 1024))
            publisher = Publisher(jetstream)
            made = [(n, AuditRecord(at_second(n), "Recall", "OK", tenant_id="busy")) for n in range(60)]
            for one in made:
                padded = (one[0], replace(one[1], memory_ids=("m" * 26,) * 100))
                for message in audit_messages([padded], "ring", subjects.calls_subject):
                    await publisher.publish(message.subject, message.body, message_id=message.message_id)
            assert (await jetstream.stream_info(subjects.CALLS_STREAM)).state.first_seq > 1
            assert (await jetstream.stream_info(subjects.AUDIT_STREAM)).state.first_seq == 1

    with recorded(server, "cli.erase", CommandRecord(["busy"])):
        pass
    asyncio.run(work())
    found = records(server, RecordFilter(tenant="busy"), limit=100)
    assert found[-1].call == "cli.erase"
    assert 0 < len(found) - 1 < 60
    assert {one.call for one in found[:-1]} == {"Recall"}
    assert [one.at for one in found] == sorted(one.at for one in found)


def at_second(number: int) -> str:
    """A time of the past."""
    return f"2026-05-01T12:00:{number:02}.000+00:00"
