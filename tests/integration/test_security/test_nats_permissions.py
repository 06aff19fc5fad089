"""The users of NATS that `helix security init` makes, with a real server: each may do its work alone."""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from nats.aio.client import Client
from nats.aio.subscription import Subscription

from helix_cli.security import setup
from helix_cli.security.folder import SecurityFolder
from helix_cli.security.users import nats_access, read_state
from helix_memory import subjects
from helix_memory.errors import TemporaryError, UnauthenticatedError
from helix_memory.events import parse_event
from helix_memory.transport.connection import connect
from helix_memory.transport.credentials import NatsCredentials
from helix_memory.transport.publisher import Publisher, event_message
from helix_shared import object_bucket
from helix_shared.artifacts.object_storage.canary import prove_preconditions
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.broker.provisioning.provision import provision
from helix_shared.broker.server import NatsServer, server_name_at

pytestmark = pytest.mark.integration

PATIENCE_SECONDS = 60.0
ACME, BETA = "helix.v1.events.acme.s1.message", "helix.v1.events.beta.s1.message"
DERIVED = "helix.v1.derived.memories.acme"
OF_THE_WRITER = {"CONSUMER.CREATE.HELIX_EVENTS", "STREAM.MSG.DELETE.HELIX_EVENTS"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> SecurityFolder:
    """A security folder with the publishers of acme and, without erase, of beta."""
    made = SecurityFolder(tmp_path_factory.mktemp("home") / "security")
    assert setup.init(made, tenants={"acme": ["write", "erase"], "beta": ["write"]}) == ["acme", "beta"]
    return made


@pytest.fixture(scope="module")
def secured(folder: SecurityFolder, tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A server with these users and TLS, and the streams of Helix."""
    with NatsServer(
        tmp_path_factory.mktemp("nats"), name="mine", access=lambda: nats_access(folder, read_state(folder))
    ) as server:
        asyncio.run(provisioned(server, folder.nats_credentials()))
        yield server


async def provisioned(server: NatsServer, credentials: NatsCredentials | None) -> None:
    """Create the streams."""
    client = await connect(server.url, name="test", credentials=credentials)
    await provision(client.jetstream(), endpoint=True, objects=True)
    await client.close()


@pytest.fixture
async def clients(secured: NatsServer, folder: SecurityFolder) -> AsyncIterator[Any]:
    """Connects as a user; all connections are closed after the test."""
    opened: list[Client] = []

    async def open_as(user: str) -> Client:
        credentials = folder.nats_credentials(user)
        opened.append(await connect(secured.url, name="test", credentials=credentials))
        return opened[-1]

    yield open_as
    for client in opened:
        await client.close()


async def round_trip(client: Client) -> None:
    """The server has read what a client sent before, and the client what the server sent it until then.

    The ping of `flush` alone may be written before messages that are pending in the client.
    """
    await client._flush_pending(force_flush=True)
    await client.flush()


async def replies(client: Client, bodies: Mapping[str, bytes]) -> dict[str, bytes]:
    """The reply on each subject on which a user may publish; all are tried at once.

    For a message that it refuses the server sends an error before its answer to the next ping. So nothing
    here depends on how long a reply takes.
    """
    refused, report = set[str](), client._error_cb
    named = {subject.lower(): subject for subject in bodies}  # the client tells errors in lower case

    async def note(error: Exception) -> None:
        if found := re.search(r'permissions violation for publish to "(.+)"', str(error)):
            refused.add(named[found[1]])
        await report(error)

    client._error_cb = note
    inbox = client.new_inbox()
    subscription = await client.subscribe(f"{inbox}.*")
    for number, (subject, body) in enumerate(bodies.items()):
        await client.publish(subject, body, reply=f"{inbox}.{number}")
    await round_trip(client)
    client._error_cb = report
    received = dict[str, bytes]()
    while refused | received.keys() != bodies.keys():
        reply = await subscription.next_msg(timeout=PATIENCE_SECONDS)
        received[list(bodies)[int(reply.subject.rpartition(".")[2])]] = reply.data
    await subscription.unsubscribe()
    return received


async def stored_of(client: Client, names: Iterable[str]) -> set[str]:
    """The subjects on which a stream stores a message."""
    found = await replies(client, dict.fromkeys(names, b"{}"))
    assert all("stream" in json.loads(reply) for reply in found.values()), found
    return set(found)


async def is_stored(client: Client, subject: str) -> bool:
    """Whether a stream acknowledges a message."""
    return bool(await stored_of(client, [subject]))


async def test_a_publisher_writes_for_its_tenant_alone(clients: Any) -> None:
    """Not for another tenant, and none of what services derive, forward or refuse."""
    acme, operator = await clients("tenant-acme"), await clients("operator")
    events = operator.jetstream()
    assert await is_stored(acme, ACME)
    before = (await events.stream_info(subjects.EVENTS_STREAM)).state.last_seq
    foreign = (
        BETA,
        "helix.v1.events.acmes.s1.message",
        DERIVED,
        "helix.v1.derived.links.acme",
        "helix.v1.access.acme",
        "helix.v1.dlq.ingest.acme",
        "helix.v1.answers.acme.key",
        "helix.v1.pairs.acme.1",
        "$KV.HELIX_LEASES.consolidation.0",
        "$KV.HELIX_IMPORTS.seal",
    )
    assert await stored_of(acme, foreign) == set()
    assert (await events.stream_info(subjects.EVENTS_STREAM)).state.last_seq == before
    assert (await events.stream_info(subjects.DERIVED_STREAM)).state.messages == 0


async def test_without_users_the_same_publishes_are_stored(tmp_path: Path) -> None:
    """The control: what refuses them is the users, not the subjects."""
    with NatsServer(tmp_path / "open") as server:
        await provisioned(server, None)
        client = await connect(server.url, name="test")
        for subject in (ACME, BETA, DERIVED, "helix.v1.dlq.ingest.acme"):
            assert await is_stored(client, subject), subject
        await client.close()


async def test_erasing_needs_a_role_of_its_own(clients: Any) -> None:
    """A publisher with the role write alone may correct and forget, which can be undone."""
    acme, beta = await clients("tenant-acme"), await clients("tenant-beta")
    for kind in ("message", "correct", "forget", "session"):
        assert await is_stored(beta, f"helix.v1.events.beta.s1.{kind}"), kind
    assert not await is_stored(beta, "helix.v1.events.beta.s1.erase")
    assert await is_stored(acme, "helix.v1.events.acme.s1.erase")


async def test_a_publisher_reads_nothing_but_the_last_of_its_own_dead_letters(clients: Any) -> None:
    """No events, no states of streams, no consumers, no other tenant's dead letters."""
    acme, operator = await clients("tenant-acme"), await clients("operator")
    for tenant in ("acme", "beta"):
        await operator.jetstream().publish(f"helix.v1.dlq.ingest.{tenant}", tenant.encode())
    own = "$JS.API.DIRECT.GET.HELIX_DLQ.helix.v1.dlq.ingest"
    assert (await acme.request(f"{own}.acme", timeout=5)).data == b"acme"
    refused = {
        f"{own}.beta": b"",
        "$JS.API.DIRECT.GET.HELIX_DLQ": b'{"seq": 1}',
        "$JS.API.DIRECT.GET.HELIX_EVENTS": b'{"seq": 1}',
        "$JS.API.STREAM.MSG.GET.HELIX_EVENTS": b'{"seq": 1}',
        "$JS.API.STREAM.INFO.HELIX_EVENTS": b'{"subjects_filter": ">"}',
        "$JS.API.STREAM.PURGE.HELIX_EVENTS": b"",
        "$JS.API.STREAM.DELETE.HELIX_EVENTS": b"",
        "$JS.API.STREAM.MSG.DELETE.HELIX_EVENTS": b'{"seq": 1}',
        "$JS.API.STREAM.MSG.DELETE.HELIX_DLQ": b'{"seq": 1}',
        "$JS.API.STREAM.SNAPSHOT.HELIX_EVENTS": b'{"deliver_subject": "x"}',
        "$JS.API.STREAM.RESTORE.MINE": b"{}",
        "$JS.API.STREAM.INFO.KV_HELIX_IMPORTS": b"",
        "$JS.API.DIRECT.GET.KV_HELIX_IMPORTS.$KV.HELIX_IMPORTS.seal": b"",
        "$JS.API.CONSUMER.CREATE.HELIX_EVENTS": b'{"stream_name": "HELIX_EVENTS", "config": {}}',
        "$JS.API.CONSUMER.DELETE.HELIX_EVENTS.ingest": b"",
        "$JS.API.CONSUMER.CREATE.HELIX_EVENTS.mine": b'{"stream_name": "HELIX_EVENTS", "config": {}}',
        "$JS.API.CONSUMER.MSG.NEXT.HELIX_EVENTS.ingest": b"1",
        "$JS.API.CONSUMER.RESET.HELIX_EVENTS.ingest": b"",
        "$JS.API.INFO": b"",
    }
    assert await replies(acme, refused) == {}
    assert await replies(operator, {"$JS.API.STREAM.INFO.HELIX_EVENTS": b""})


async def test_a_service_creates_changes_and_removes_nothing_of_the_broker(clients: Any) -> None:
    """The writer may read the log by a consumer that the server names, and remove single messages."""
    users = ("ingest", "doc2query", "kg", "extract", "consolidation", "forwarder", "gateway")
    found = {user: await _answered_requests(await clients(user)) for user in users}
    assert found == {user: OF_THE_WRITER if user == "consolidation" else set() for user in users}
    everything = await _answered_requests(await clients("operator"))
    assert everything >= {*OF_THE_WRITER, "CONSUMER.CREATE.HELIX_EVENTS.ingest"}


async def _answered_requests(client: Client) -> set[str]:
    def consumer(**config: Any) -> bytes:
        return json.dumps({"stream_name": "HELIX_EVENTS", "config": config}).encode()

    asked = {
        "CONSUMER.CREATE.HELIX_EVENTS": consumer(ack_policy="none", inactive_threshold=int(1e9)),
        "CONSUMER.CREATE.HELIX_EVENTS.ingest": consumer(name="ingest", durable_name="ingest"),
        "CONSUMER.DURABLE.CREATE.HELIX_EVENTS.ingest": consumer(durable_name="ingest"),
        # without a message of this sequence
        "STREAM.MSG.DELETE.HELIX_EVENTS": b'{"seq": 999999}',
        "STREAM.PURGE.HELIX_EVENTS": b'{"filter": "nothing"}',
        "STREAM.UPDATE.HELIX_EVENTS": b"{}",
        "STREAM.SNAPSHOT.HELIX_EVENTS": b"{}",
        "STREAM.MSG.DELETE.HELIX_DERIVED": b'{"seq": 999999}',
    }
    found = await replies(client, {f"$JS.API.{one}": body for one, body in asked.items()})
    return {name.removeprefix("$JS.API.") for name in found}


async def test_a_consumer_that_the_server_names_is_never_a_durable_one(clients: Any) -> None:
    """The writer's request cannot name one in its body instead of its subject."""
    writer, operator = await clients("consolidation"), await clients("operator")
    before = await operator.jetstream().consumer_info(subjects.EVENTS_STREAM, "ingest")
    for name in ({"durable_name": "ingest"}, {"name": "ingest"}):
        config = {"ack_policy": "none", "inactive_threshold": int(1e9), **name}
        body = json.dumps({"stream_name": subjects.EVENTS_STREAM, "config": config}).encode()
        reply = json.loads((await writer.request("$JS.API.CONSUMER.CREATE.HELIX_EVENTS", body)).data)
        assert "error" in reply or reply["name"] != "ingest", reply
    after = await operator.jetstream().consumer_info(subjects.EVENTS_STREAM, "ingest")
    assert (after.config, after.created) == (before.config, before.created)


@pytest.mark.parametrize(
    "subject", [">", "helix.v1.events.acme.>", "helix.v1.>", "_INBOX.>", "_INBOX_ingest.>"]
)
async def test_a_publisher_hears_nobody(clients: Any, subject: str) -> None:
    """A subscription that is not under its own inbox is refused, and stays silent."""
    acme, operator = await clients("tenant-acme"), await clients("operator")
    subscription = await acme.subscribe(subject)
    control = await operator.subscribe(subject)
    await round_trip(acme)
    await round_trip(operator)
    target = subject.replace(">", "x") if subject != ">" else ACME
    await operator.publish(target, b"secret")
    assert (await control.next_msg(timeout=5)).data == b"secret"
    await round_trip(acme)
    assert not subscription.pending_msgs


@pytest.mark.parametrize(
    "user", ["ingest", "doc2query", "kg", "extract", "consolidation", "forwarder", "gateway"]
)
async def test_a_service_publishes_what_it_makes_and_nothing_else(clients: Any, user: str) -> None:
    """Only the gateway may publish events, the writer those of the lifecycle; none what another makes.

    The writer also stores what it redrives, on every edge, and refuses it again in the name of its service.
    """
    service = await clients(user)
    own = {
        "ingest": {"derived.memories.acme", "dlq.ingest.acme"},
        "doc2query": {"derived.expansions.acme", "dlq.doc2query.acme"},
        "kg": {"derived.links.acme", "dlq.kg.acme"},
        "extract": {
            "derived.statements.acme",
            "derived.verdicts.acme",
            "dlq.extract.acme",
            "answers.acme.key",
        },
        # of an erasure or a redrive: what ingest and others derive again
        "consolidation": {
            *(f"dlq.{service}.acme" for service in ("consolidation", "ingest", "doc2query", "kg", "extract")),
            *(f"derived.{edge}.acme" for edge in subjects.EDGES),
            "events.acme.s1.erase",
            "pairs.acme.1",
            "audit.acme",
        },
        "forwarder": {"access.acme", "calls.acme"},
        "gateway": {"events.acme.s1.message", "events.acme.s1.erase"},
    }
    everything = set().union(*own.values())
    stored = await stored_of(service, [f"helix.v1.{one}" for one in everything])
    assert stored == {f"helix.v1.{one}" for one in own[user]}


async def _waiting(subscription: Subscription) -> list[bytes]:
    """What a subscription without a callback received: all of it is here after its client's round trip."""
    received = []
    while subscription.pending_msgs:
        received.append((await subscription.next_msg()).data)
    return received


async def test_a_replica_reads_the_bucket_of_generations_and_nothing_else(
    secured: NatsServer, folder: SecurityFolder, clients: Any, tmp_path: Path
) -> None:
    """The writer may do all that an upload and a collection take; a replica what a download takes."""
    (tmp_path / "file").write_bytes(b"part")

    def exchange() -> None:
        own, other = (
            open_store(f"{secured.url}/shard", credentials=folder.nats_credentials(user))
            for user in ("consolidation", "replica")
        )
        prove_preconditions(own)
        own.upload("parts/ab/abc", tmp_path / "file")
        version = own.create("CURRENT", b"1")
        own.replace("CURRENT", b"2", version)
        found = other.read("CURRENT")
        assert found is not None
        assert found.body == b"2"
        assert [one.path for one in other.list("parts")] == ["parts/ab/abc"]
        other.download("parts/ab/abc", tmp_path / "back", size=4)
        own.delete(["CURRENT", "parts/ab/abc"])
        assert list(other.list("parts")) == []
        own.close()
        other.close()

    await asyncio.to_thread(exchange)
    stream, digits = object_bucket.STREAM, b'{"seq": 999999}'
    asked = {
        f"{object_bucket.METAS}.x": b"{}",
        f"{object_bucket.CHUNKS}.x": b"{}",
        f"$JS.API.STREAM.MSG.DELETE.{stream}": digits,
        f"$JS.API.STREAM.PURGE.{stream}": b'{"filter": "nothing"}',
        f"$JS.API.CONSUMER.CREATE.{stream}": json.dumps({"stream_name": stream, "config": {}}).encode(),
        f"$JS.API.STREAM.DELETE.{stream}": b"",
        "$JS.API.STREAM.INFO.HELIX_EVENTS": b"",
        "$JS.API.STREAM.MSG.GET.HELIX_EVENTS": digits,
        "$JS.API.DIRECT.GET.HELIX_EVENTS": digits,
        "$JS.API.STREAM.INFO.KV_HELIX_LEASES": b"",
        ACME: b"{}",
    }
    assert await replies(await clients("replica"), asked) == {}
    for user in ("ingest", "doc2query", "kg", "extract", "forwarder", "gateway"):
        there = {subject: body for subject, body in asked.items() if stream in subject or "$O" in subject}
        assert await replies(await clients(user), there) == {}
    assert len(await replies(await clients("consolidation"), dict(list(asked.items())[:4]))) == 4


async def test_only_the_gateway_and_the_operator_ask_for_letters(clients: Any) -> None:
    """A publisher of a tenant or another service would redrive and drop letters of all tenants."""
    writer = await clients("consolidation")
    subscription = await writer.subscribe(subjects.LETTER_REQUESTS)
    await round_trip(writer)
    for user in ("tenant-acme", "ingest", "extract", "forwarder", "gateway", "operator"):
        client = await clients(user)
        await client.publish(subjects.LETTER_REQUESTS, user.encode())
        await round_trip(client)
    await round_trip(writer)
    assert await _waiting(subscription) == [b"gateway", b"operator"]


async def test_only_the_operator_pauses_writers(clients: Any) -> None:
    """Whoever else could would hold back every generation."""
    writer = await clients("consolidation")
    subscription = await writer.subscribe(subjects.pause_request_subject(1))
    await round_trip(writer)
    for user in ("tenant-acme", "ingest", "extract", "forwarder", "gateway", "consolidation", "operator"):
        client = await clients(user)
        await client.publish(subjects.pause_request_subject(1), user.encode())
        await round_trip(client)
    await round_trip(writer)
    assert await _waiting(subscription) == [b"operator"]


async def test_a_server_with_users_refuses_everybody_else(
    secured: NatsServer, folder: SecurityFolder, tmp_path: Path
) -> None:
    """No user, a wrong password and a wrong CA all fail; nothing is sent before the handshake."""
    wrong = tmp_path / "wrong"
    wrong.write_text("operator.1:guess")
    wrong.chmod(0o600)
    with pytest.raises(UnauthenticatedError, match="refuses the user"):
        await connect(secured.url, name="test", credentials=NatsCredentials(wrong, folder.ca))
    with pytest.raises(UnauthenticatedError, match="refuses the user"):
        await connect(secured.url, name="test", credentials=NatsCredentials(ca_file=folder.ca))
    with pytest.raises(TemporaryError):
        await connect(secured.url, name="test", timeout_seconds=1)
    setup.init(other := SecurityFolder(tmp_path / "security"), tenants={})
    with pytest.raises(TemporaryError, match="no TLS connection"):
        await connect(
            secured.url, name="test", credentials=NatsCredentials(folder.nats_file("operator"), other.ca)
        )
    credentials = folder.nats_credentials()
    assert credentials is not None
    assert server_name_at(secured.url, tls=credentials.options()["tls"]) == "mine"


async def test_a_new_secret_of_a_publisher_leaves_the_one_before_valid(
    secured: NatsServer, folder: SecurityFolder, tmp_path: Path
) -> None:
    """Publishers change to the new one in their own time; the next renewal ends the old one."""
    kept = []
    for number in range(2):
        path = tmp_path / f"secret-{number}"
        path.write_text(folder.nats_file("tenant-beta").read_text())
        path.chmod(0o600)
        kept.append(NatsCredentials(path, folder.ca))
        setup.renew_tenant(folder, "beta", end_older=False)
    kept.append(NatsCredentials(folder.nats_file("tenant-beta"), folder.ca))
    secured.reload()

    async def is_refused(credentials: NatsCredentials) -> bool:
        try:
            await (await connect(secured.url, name="test", credentials=credentials)).close()
        except UnauthenticatedError:
            return True
        return False

    for _ in range(100):
        if await is_refused(kept[0]):
            break
        await asyncio.sleep(0.1)
    assert [await is_refused(one) for one in kept] == [True, False, False]


async def test_nobody_takes_the_id_of_another_tenants_event(clients: Any, folder: SecurityFolder) -> None:
    """The stream de-duplicates across tenants; the id of acme's event is one that beta cannot make."""
    acme, beta, operator = [await clients(user) for user in ("tenant-acme", "tenant-beta", "operator")]
    event = parse_event(
        b'{"kind": "message", "event_id": "x1", "tenant_id": "acme", "role": "user", "text": "Hi"}'
    )
    plain, secret = subjects.message_id("acme", "x1"), folder.nats_credentials("tenant-beta").id_secret
    for guessed in (plain, subjects.bound_message_id(plain, secret)):
        await beta.jetstream().publish(BETA, b"{}", headers={subjects.MSG_ID_HEADER: guessed})
    # the control: without the secret the stream drops the event, and takes it for stored
    dropped = await Publisher(acme.jetstream(), only_tenant="acme").publish_event(event)
    assert dropped.duplicate
    assert (await operator.jetstream().get_msg(subjects.EVENTS_STREAM, dropped.sequence)).subject == BETA
    own = folder.nats_credentials("tenant-acme").id_secret
    publisher = Publisher(acme.jetstream(), only_tenant="acme", id_secret=own)
    stored = await publisher.publish_event(event)
    assert not stored.duplicate
    assert b'"Hi"' in (await operator.jetstream().get_msg(subjects.EVENTS_STREAM, stored.sequence)).data
    assert (await publisher.publish_event(event)).duplicate, "a repeated event is stored once"


async def test_events_of_a_batch_have_ids_of_their_publisher(clients: Any, folder: SecurityFolder) -> None:
    """As single ones: what was published alone is not stored again by a batch."""
    acme, secret = await clients("tenant-acme"), folder.nats_credentials("tenant-acme").id_secret
    publisher = Publisher(acme.jetstream(), only_tenant="acme", id_secret=secret)
    one, two = [
        parse_event(
            json.dumps(
                {"kind": "message", "event_id": name, "tenant_id": "acme", "role": "user", "text": "Hi"}
            ).encode()
        )
        for name in ("b1", "b2")
    ]
    acks = await publisher.publish_together(acme, [event_message(one), event_message(two)])
    assert acks is not None
    assert [(await publisher.publish_event(event)).sequence for event in (one, two)] == [
        ack.sequence for ack in acks
    ]
