"""Events that another client published, without an id or as large as the log takes, are copied as well."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from nats.aio.client import Client

from helix_cli.clients.sending import Tally
from helix_cli.exchange.export import events_of, export
from helix_cli.exchange.import_export import check, publish_export
from helix_memory import limits, subjects
from helix_shared.broker.log_reader import read_range
from helix_shared.event_log.export_file import EVENT, ExportHeader, ExportWriter
from helix_shared.event_log.record import EventRecord

pytestmark = pytest.mark.integration

COUNT = 3
SUBJECT = "helix.v1.events.acme.-.memory"


async def _publish(client: Client) -> None:
    """Events of acme as any client of NATS publishes them, and one that is none."""
    for number in range(1, COUNT + 1):
        fields = {"kind": "memory", "event_id": f"e{number}", "tenant_id": "acme", "text": f"tea {number}"}
        await client.jetstream().publish(SUBJECT, json.dumps(fields).encode())
    await client.jetstream().publish(SUBJECT, b"no event")


async def _exported(client: Client, path: Path) -> Path:
    with path.open("wb") as target:
        await export(client, target, tenants=["acme"], data_of=lambda _: path.parent / "data")
    return path


async def _take(client: Client, path: Path, *, tenant: str) -> Tally:
    checked, tally = check(path, renames=True), Tally()
    await publish_export(client, checked, checked.renaming(tenant), tally=tally)
    return tally


async def _ids(client: Client, tenant: str) -> list[str]:
    last = (await client.jetstream().stream_info(subjects.EVENTS_STREAM)).state.last_seq
    reading = read_range(client, subjects.EVENTS_STREAM, events_of([tenant]), until=last)
    return [record.message_id async for batch in reading for record in batch]


async def test_a_clone_has_every_event(nats_client: Client, tmp_path: Path) -> None:
    """All of them had the name of the first one, so the stream dropped the others."""
    await _publish(nats_client)
    path = await _exported(nats_client, tmp_path / "acme.jsonl")
    for new in (COUNT + 1, 0):
        tally = await _take(nats_client, path, tenant="other")
        assert (tally.published, tally.duplicates) == (new, COUNT + 1 - new)
    refused = f"import:other:{COUNT + 1}"
    assert await _ids(nats_client, "other") == ["other:e1", "other:e2", "other:e3", refused]


async def test_exports_of_two_instances_do_not_hide_each_other(nats_client: Client, tmp_path: Path) -> None:
    """Their events have the same sequences."""
    for name in ("one", "two"):
        body = json.dumps({"kind": "memory", "event_id": name, "tenant_id": "acme", "text": name}).encode()
        path = tmp_path / f"{name}.jsonl"
        with path.open("wb") as target:
            writer = ExportWriter(target, ExportHeader("0.1.0", "", "", ["acme"], events=1))
            writer.add(EVENT, EventRecord(1, SUBJECT, datetime(2026, 11, 24, tzinfo=UTC), body))
            writer.finish()
        assert (await _take(nats_client, path, tenant="")).published == 1
    assert await _ids(nats_client, "acme") == ["acme:one", "acme:two"]


async def test_an_event_as_large_as_the_log_takes_is_imported(nats_client: Client, tmp_path: Path) -> None:
    """It has no room for the headers of its time; the import ended there."""
    fields = {"kind": "memory", "event_id": "large", "tenant_id": "acme", "text": ""}
    text = "x" * (limits.EVENT_BYTES - len(json.dumps(fields)))
    await nats_client.jetstream().publish(SUBJECT, json.dumps({**fields, "text": text}).encode())
    await _publish(nats_client)
    path = await _exported(nats_client, tmp_path / "acme.jsonl")
    assert (await _take(nats_client, path, tenant="other")).published == COUNT + 2
    assert (await _ids(nats_client, "other"))[:2] == ["other:large", "other:e1"]
    info = await nats_client.jetstream().stream_info(subjects.EVENTS_STREAM)
    assert info.config.max_msg_size == limits.EVENT_BYTES


async def test_a_message_that_is_no_event_does_not_end_an_import(nats_client: Client, tmp_path: Path) -> None:
    """Whoever may publish for a tenant could make all of its exports useless."""
    for session in ("*", ">", "a.b"):
        # no client sends such a subject
        await nats_client._send_command(f"PUB helix.v1.events.acme.{session}.memory 2\r\n{{}}\r\n".encode())
    await nats_client.flush()
    await _publish(nats_client)
    with (tmp_path / "acme.jsonl").open("wb") as target:
        found = await export(nats_client, target, tenants=["acme"], data_of=lambda _: tmp_path / "data")
    assert (found.events, found.malformed) == (COUNT + 1, 3)
    assert (await _take(nats_client, tmp_path / "acme.jsonl", tenant="other")).published == COUNT + 1
