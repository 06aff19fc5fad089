"""Backups made while events are published, and before a user is erased: what a restore brings back."""

import asyncio
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.backup.contents import check_pieces, read_contents
from helix_cli.backup.event_copy import entries_of
from helix_cli.backup.objects import Objects
from helix_cli.stack.stack import Stack
from helix_memory.events import parse_event
from helix_memory.identity import memory_id
from helix_memory.recall.v1.recall_pb2 import Scope
from helix_memory.transport.connection import connect
from helix_memory.transport.publisher import Publisher
from helix_memory.transport.recall_client import RecallClient
from helix_shared.artifacts.generation.folders import current_number, folder_of
from helix_shared.artifacts.generation.manifest import Manifest
from helix_shared.broker.log_reader import read_range
from helix_shared.broker.server import NatsServer
from helix_shared.errors import CorruptArtifactError
from helix_shared.event_log.record import EventRecord
from helix_shared.event_log.segment import Gap
from helix_shared.keys.key_store import KEYS, KeyStore
from tests.folder_contents import files_with

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(300)]

FIRST = 40
MOST = 400
CANARY = {"ana": "zqanacanary", "bo": "zqbocanary"}
GOLDEN = Path(__file__).parents[2] / "golden/backups/0.1.0"
TOPICS = ("the retry budget", "staging", "the importer", "billing", "our release train", "the parser")


def event(number: int) -> dict[str, Any]:
    """Messages of several sessions, and every tenth event forgets an earlier one."""
    base = {"event_id": f"e{number}", "tenant_id": "acme"}
    if number % 10 == 9:
        return {**base, "kind": "forget", "memory_ids": [memory_id("acme", f"e{number - 5}", 0)]}
    text = f"About {TOPICS[number % 6]}: ticket {number * 7919} moved to rack {number}."
    return {**base, "kind": "message", "role": "user", "session_id": f"s{number % 4}", "text": text}


def helix(home: Path, *arguments: str, code: int = 0) -> str:
    """What a command prints; it must end with `code`."""
    result = CliRunner(env={"HELIX_HOME": str(home)}).invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def publish(home: Path, numbers: range, *, wait: bool = False) -> None:
    """Publish events; returns when they are acknowledged."""
    file = home / f"events-{numbers.start}.jsonl"
    file.write_text("".join(f"{json.dumps(event(number))}\n" for number in numbers))
    helix(home, "publish", str(file), *(["--wait"] if wait else []))


def say_as_users(home: Path) -> None:
    """Two users of tenant beta say three things each."""
    said = [
        {"kind": "memory", "event_id": f"{user}{n}", "tenant_id": "beta", "session_id": f"of-{user}"}
        | {"user_id": user, "text": f"{CANARY[user]} is in drawer {n}."}
        for n in range(3)
        for user in CANARY
    ]
    file = home / "users.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in said))
    helix(home, "publish", str(file), "--wait")
    file.unlink()


async def logged(home: Path) -> dict[int, EventRecord]:
    """The events in the log of a home that nobody runs, by sequence."""
    with NatsServer(home / "data/nats") as server:
        client = await connect(server.url, name="test")
        found = {}
        last = (await client.jetstream().stream_info("HELIX_EVENTS")).state.last_seq
        async for batch in read_range(client, "HELIX_EVENTS", ["helix.v1.events.>"], until=last):
            found |= {record.sequence: record for record in batch}
        await client.close()
        return found


def manifest(home: Path) -> Manifest:
    """The current generation."""
    number = current_number(home / "data")
    assert number is not None
    return Manifest.read(folder_of(home / "data", number))


class Publishing:
    """Publishes events in a thread, inside `with`; `published` is the number of all."""

    def __init__(self, url: str) -> None:
        self.published = FIRST
        self._url = url
        self._over = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._publish()))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    async def _publish(self) -> None:
        client = await connect(self._url, name="test")
        publisher = Publisher(client.jetstream())
        while not self._over.is_set() and self.published < MOST:
            await publisher.publish_event(parse_event(json.dumps(event(self.published)).encode()))
            self.published += 1
        await client.close()


@dataclass(frozen=True)
class Made:
    """Two backups of one instance in one folder, and the instance as it ended."""

    folder: Path
    second: dict[str, int]
    published: int
    digest: str
    hidden: int
    last_sequence: int
    keys: Path
    """A copy of the keys, made before the erasure."""
    users: Path
    """A backup of before the erasure of ana, and one of after it."""
    home: Path
    receipt: dict[str, Any]
    audited: list[dict[str, Any]]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Made]:
    """Backs up twice while a thread publishes, then lets the source finish; at last erases a user."""
    home, folder = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("backups")
    with Stack(home, nats_port=0, query_port=0, models=models_dir, copies={"forwarder": 0}) as source:
        source.wait_ready()
        publish(home, range(FIRST), wait=True)
        with Publishing(source.nats_url) as publishing:
            helix(home, "backup", str(folder))
            second = json.loads(helix(home, "backup", str(folder), "--json"))
        publish(home, range(publishing.published, publishing.published + 4), wait=True)
        published = publishing.published + 4
        last = manifest(home)
        say_as_users(home)
        keys, users = tmp_path_factory.mktemp("safe") / "keys", tmp_path_factory.mktemp("users")
        helix(home, "backup", str(users))
        helix(home, "keys", "copy", str(keys))
        erase = (
            "erase",
            "--yes",
            "--of-user",
            "ana",
            "--tenant",
            "beta",
            "--user",
            "ana",
            "--wait-seconds",
            "120",
        )
        receipt = json.loads(helix(home, *erase, "--json"))
        audited = json.loads(helix(home, "audit", "ls", "--tenant", "beta", "--json"))
        helix(home, "backup", str(users))
        yield Made(
            folder,
            second,
            published,
            last.digest,
            last.counts.hidden,
            last.applied_sequence,
            keys,
            users,
            home,
            receipt,
            audited,
        )


@pytest.fixture(scope="module")
def restored(made: Made, tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """A new home with the second backup."""
    home = tmp_path_factory.mktemp("restored")
    said = helix(home, "restore", str(made.folder), "--keys", str(made.keys))
    assert "left out" not in said
    with Stack(home, nats_port=0, query_port=0, models=models_dir, copies={"forwarder": 0}) as running:
        running.wait_ready()
        yield running


def test_every_event_of_the_backup_is_recallable(made: Made, restored: Stack) -> None:
    """The log ends where the backup says; what was acknowledged until then is a memory, once."""
    last = made.second["last_sequence"]
    assert FIRST <= last <= made.last_sequence
    assert last > made.second["applied_sequence"], "nothing was under way: the test shows nothing"
    with RecallClient(restored.query_address) as client:
        client.wait_until_applied(last, wait_seconds=60)
        events = [event(number) for number in range(last)]
        forgotten = {one["memory_ids"][0] for one in events if one["kind"] == "forget"}
        messages = [memory_id("acme", one["event_id"], 0) for one in events if one["kind"] == "message"]
        for name in messages:
            if name not in forgotten:
                found = client.memory(Scope(tenant_id="acme"), name)
                assert f"e{found.source.stream_sequence - 1}" == found.source.event_id
    assert manifest(restored.home.root).counts.memories == len(messages)


def test_restored_instance_continues_to_the_same_end(made: Made, restored: Stack) -> None:
    """With the events that came after the backup the ids and what is hidden are those of the source."""
    publish(restored.home.root, range(made.second["last_sequence"], made.published), wait=True)
    found = manifest(restored.home.root)
    assert found.applied_sequence == made.last_sequence
    assert (found.digest, found.counts.hidden) == (made.digest, made.hidden)
    assert "lag    0 events" in helix(restored.home.root, "status")
    archived = helix(restored.home.root, "archive", "verify")
    assert f"whole up to sequence {made.last_sequence}: {made.last_sequence} events" in archived


def test_second_backup_adds_what_is_new(made: Made) -> None:
    """Files and blocks that the first backup has are not written again."""
    assert 0 < made.second["new_bytes"] < made.second["bytes"]


def test_damaged_pieces_are_written_again_by_the_next_backup(made: Made, tmp_path: Path) -> None:
    """Each file has its size and one other byte; the next backup must not count on any of them."""
    helix(made.home, "backup", str(tmp_path))
    for path in (tmp_path / "objects").glob("??/*"):
        whole = path.read_bytes()
        path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(CorruptArtifactError, match="damaged"):
        check_pieces(tmp_path, read_contents(tmp_path))
    helix(made.home, "backup", str(tmp_path))
    check_pieces(tmp_path, read_contents(tmp_path))


def test_changed_byte_is_found_and_not_restored(made: Made, tmp_path: Path) -> None:
    """Verification names the damaged piece; a restore refuses before it changes anything."""
    assert helix(tmp_path, "backup", str(made.folder), "--verify").count("all good") == 2
    pieces = sorted(path for path in (made.folder / "objects").glob("??/*"))
    manifests = sorted((made.folder / "manifests").iterdir())
    home = tmp_path / "home"
    for path in (*pieces[:: len(pieces) // 5], manifests[-1]):
        whole = path.read_bytes()
        place = len(whole) // 2
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        said = helix(tmp_path, "backup", str(made.folder), "--verify", code=1)
        assert path.name in said.replace("\n", "")
        if path == manifests[-1]:
            helix(home, "restore", str(made.folder), "--keys", str(made.keys), code=1)
            assert not (home / "data").exists()
        path.write_bytes(whole)


def test_backup_without_its_manifest_does_not_exist(made: Made, tmp_path: Path) -> None:
    """A backup that was ended before its last step is none."""
    (tmp_path / "objects").symlink_to(made.folder / "objects")
    assert "holds no backup" in helix(tmp_path, "restore", str(tmp_path), code=1)


def test_home_with_data_is_not_replaced(made: Made, tmp_path: Path) -> None:
    """A restore never touches what is there."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data/mine").write_text("mine")
    arguments = ("restore", str(made.folder), "--keys", str(made.keys))
    assert "is not empty" in helix(tmp_path, *arguments, code=1)
    assert (tmp_path / "data/mine").read_text() == "mine"


def test_no_word_of_a_user_is_in_a_backup_in_the_clear(made: Made) -> None:
    """The words are in it, though: with the keys of before the erasure every event is read."""
    for word in (*CANARY.values(), "rack 7", "helix.v1.events.beta"):
        assert files_with(made.users, word) == []
    events = read_contents(made.users, 1).events
    assert events is not None
    with KeyStore.held(made.keys) as keys:
        found = list(entries_of(events, Objects(made.users), keys))
    said = b"\n".join(one.body for one in found if isinstance(one, EventRecord))
    assert [said.count(word.encode()) for word in CANARY.values()] == [3, 3]


def test_an_erased_user_is_left_out_of_an_older_backup(made: Made, tmp_path: Path) -> None:
    """No file has a word of ana; everything else is there under its sequence, with its time."""
    before = read_contents(made.users, 1).events
    assert before is not None
    with KeyStore.held(made.keys) as keys:
        wanted = {
            e.sequence: e for e in entries_of(before, Objects(made.users), keys) if not isinstance(e, Gap)
        }
    keys_now = str(made.home / "data" / KEYS)
    said = helix(tmp_path, "restore", str(made.users), "--number", "1", "--keys", keys_now)
    assert "left out: 3 events" in " ".join(said.split())
    assert "without a generation" in " ".join(said.split())
    found = asyncio.run(logged(tmp_path))
    kept = {n: e for n, e in wanted.items() if CANARY["ana"].encode() not in e.body}
    assert len(wanted) - len(kept) == 3
    # the seal of an import is not among the headers of a record
    assert found == kept
    assert files_with(tmp_path, CANARY["ana"]) == []
    assert len(wanted) == before.last, "sequences without an event would hide a shift"


def test_backup_after_an_erasure_is_restored_with_its_generation(made: Made, tmp_path: Path) -> None:
    """Only older backups lost the key of what they hold of all users together."""
    arguments = ("restore", str(made.users), "--keys", str(made.home / "data" / KEYS), "--json")
    told = json.loads(helix(tmp_path, *arguments).splitlines()[-1])
    assert (told["number"], told["left_out"], told["has_generation"]) == (2, 0, True)
    assert manifest(tmp_path).counts.memories > 0
    for word in CANARY["ana"], CANARY["ana"].upper():
        assert files_with(tmp_path, word) == []


def test_receipt_and_audit_say_that_the_keys_are_destroyed(made: Made) -> None:
    """Three events of ana, whose keys no copy of this instance has; the record has no text."""
    place = made.receipt["places"]["backups"]
    assert place["count"] == 3
    assert place["generation"] > 0
    [record] = [one for one in made.audited if one["call"] == "event.erase"]
    assert (record["user_id"], record["count"], record["outcome"]) == ("ana", 3, "OK")
    assert CANARY["ana"] not in json.dumps(made.audited)


def test_backup_opens_with_its_keys_alone(made: Made, tmp_path: Path) -> None:
    """Without them, or with those of another instance, nothing is changed."""
    with KeyStore.held(tmp_path / "other"):
        pass
    home = tmp_path / "home"
    assert "--keys" in helix(home, "restore", str(made.users), code=2)
    said = helix(home, "restore", str(made.users), "--keys", str(tmp_path / "other"), code=2)
    assert "another instance" in " ".join(said.split())
    helix(home, "restore", str(made.users), "--keys", str(tmp_path / "none"), code=1)
    assert not (home / "data").exists()


def test_backup_in_the_clear_of_an_older_release_is_restored(tmp_path: Path) -> None:
    """With the warning that no erasure reached it."""
    said = helix(tmp_path, "restore", str(GOLDEN))
    assert "no erasure after" in " ".join(said.split())
    found = asyncio.run(logged(tmp_path))
    assert [json.loads(found[n].body)["user_id"] for n in (1, 2, 3)] == ["ana", "bo", "ana"]
