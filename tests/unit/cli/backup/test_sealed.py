"""The encryption of a backup: what its files show, what opens them, and what stays the same bytes."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from helix_cli.backup import event_copy
from helix_cli.backup.backup import _last_events
from helix_cli.backup.contents import Contents, Derived, EventsCopy, Keys, ShardCopy, write_contents
from helix_cli.backup.event_copy import _Pieces, entries_of
from helix_cli.backup.objects import Objects
from helix_cli.backup.sealed import SealedObjects, open_event, seal_event
from helix_shared.artifacts.files.durability import sha256_of
from helix_shared.errors import CorruptArtifactError
from helix_shared.event_log.record import EventRecord
from helix_shared.event_log.segment import Entry, Gap, encoded
from helix_shared.keys.key_store import KeyStore
from helix_shared.keys.owner import owner_code

CANARY = "zqcanaryword"
AT = datetime(2026, 11, 24, 9, 0, 0, 250, tzinfo=UTC)
KEY = bytes(range(32))


def record(sequence: int, user: str = "ana", text: str = CANARY) -> EventRecord:
    """An event of a user."""
    body = f'{{"user_id": "{user}", "text": "{text} {sequence}"}}'.encode()
    subject = f"helix.v1.events.acme.s-{CANARY}.memory"
    return EventRecord(sequence, subject, AT, body, f"acme:{CANARY}{sequence}", {"Helix-Redrive": "1"})


@pytest.fixture
def objects(tmp_path: Path) -> Objects:
    """An empty folder of a backup."""
    return Objects(tmp_path / "backup")


def words(root: Path) -> int:
    """How often the word is in the files."""
    return sum(path.read_bytes().count(CANARY.encode()) for path in root.rglob("*") if path.is_file())


def copied(
    objects: Objects, keys: KeyStore, records: list[EventRecord], before: EventsCopy | None = None
) -> EventsCopy:
    """A copy of a log that ends with the last of these events."""
    pieces = _Pieces(objects, keys)
    if before is not None:
        pieces.take_over(before, records[-1].sequence)
    pieces.add_all([one for one in records if one.sequence > pieces.last])
    pieces.end(records[-1].sequence)
    return EventsCopy(log="log", config={}, last=records[-1].sequence, pieces=tuple(pieces.done))


def opened(copy: EventsCopy, objects: Objects, keys: KeyStore) -> list[Entry]:
    """What a restore reads."""
    return list(entries_of(copy, objects, keys))


def test_no_file_of_a_backup_shows_an_event(objects: Objects, tmp_path: Path) -> None:
    """Neither text nor session, message id nor user; with the keys every byte comes back."""
    records = [record(1), record(2, "bo"), record(3)]
    with KeyStore.held(tmp_path / "keys") as keys:
        copy = copied(objects, keys, records)
        assert words(objects.root) == 0
        assert opened(copy, objects, keys) == records


def test_the_search_finds_the_words_where_nothing_is_encrypted(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: without encryption the test above would fail."""

    def plain(one: EventRecord, _key: bytes, _name: str) -> bytes:
        return encoded(one)

    monkeypatch.setattr(event_copy, "seal_event", plain)
    with KeyStore.held(tmp_path / "keys") as keys:
        copied(objects, keys, [record(1)])
    assert words(objects.root) == 3


def test_erased_events_are_gaps_and_all_others_come_back(objects: Objects, tmp_path: Path) -> None:
    """Also holes that the log had; every sequence is accounted for."""
    records = [record(2), record(3), record(4, "bo"), record(7)]
    with KeyStore.held(tmp_path / "keys") as keys:
        copy = copied(objects, keys, records)
        keys.destroy({owner_code("acme", "ana"): [(3, 3), (7, 7)]})
        assert opened(copy, objects, keys) == [
            Gap(1, 1, "not in the log"),
            records[0],
            Gap(3, 3, "erased"),
            records[2],
            Gap(5, 6, "not in the log"),
            Gap(7, 7, "erased"),
        ]
        again = copied(objects, keys, records)
        assert opened(again, objects, keys) == opened(copy, objects, keys), "an erased event is not taken"


def test_a_later_backup_takes_full_pieces_over(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last piece, which is not full, is written again with what is new."""
    monkeypatch.setattr(event_copy, "PIECE_BYTES", 1_500)
    records = [record(number) for number in range(1, 12)]
    with KeyStore.held(tmp_path / "keys") as keys:
        first = copied(objects, keys, records[:9])
        second = copied(objects, keys, records, first)
        full = [piece for piece in first.pieces if piece.is_full]
        assert len(full) > 1
        assert list(second.pieces[: len(full)]) == full
        assert opened(second, objects, keys) == records
        objects.path(full[1].name).unlink()
        third = copied(objects, keys, records, second)
        assert opened(third, objects, keys) == records, "a missing piece is written again"


def test_a_sealed_event_fits_its_place_alone() -> None:
    """Another sequence, another key or a changed byte is refused."""
    sealed = seal_event(record(5), KEY, "1-a")
    assert open_event(sealed, 5, KEY, "1-a") == record(5)
    changed = sealed[:-1] + bytes([sealed[-1] ^ 1])
    for content, sequence, key, name in (
        (sealed, 6, KEY, "1-a"),
        (sealed, 5, KEY[::-1], "1-a"),
        (sealed, 5, KEY, "1-b"),
        (changed, 5, KEY, "1-a"),
        (b"", 5, KEY, "1-a"),
    ):
        with pytest.raises(CorruptArtifactError, match="does not fit its key"):
            open_event(content, sequence, key, name)


@pytest.mark.parametrize("change", [lambda pieces: pieces[1:], lambda pieces: pieces[:-1]])
def test_a_missing_piece_is_no_gap(
    objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[..., object]
) -> None:
    """A restore is whole, or none."""
    monkeypatch.setattr(event_copy, "PIECE_BYTES", 1_000)
    with KeyStore.held(tmp_path / "keys") as keys:
        copy = copied(objects, keys, [record(number) for number in range(1, 8)])
        with pytest.raises(CorruptArtifactError):
            opened(copy.model_copy(update={"pieces": change(copy.pieces)}), objects, keys)


def test_files_are_the_same_bytes_until_the_state_key_is_replaced(objects: Objects, tmp_path: Path) -> None:
    """So a later backup stores them once; under another key nothing opens them."""
    file, target = tmp_path / "file", tmp_path / "target" / "file"
    file.write_text(f"{CANARY} " * 10)
    digest = sha256_of(file)
    one, other = SealedObjects(objects, bytes(64)), SealedObjects(objects, bytes(range(64)))
    pieces = one.put_file(file, digest)
    assert one.put_file(file, digest) == pieces
    assert words(objects.root) == 0
    one.copy_to(pieces, digest, target)
    assert target.read_bytes() == file.read_bytes()
    assert other.put_file(file, digest) != pieces
    with pytest.raises(CorruptArtifactError, match="under another key"):
        other.copy_to(pieces, digest, target)
    with pytest.raises(CorruptArtifactError, match="differs"):
        one.put_file(file, "0" * 64)


def test_an_empty_file_has_no_piece(objects: Objects, tmp_path: Path) -> None:
    """It is restored as such."""
    (tmp_path / "empty").touch()
    sealed, digest = SealedObjects(objects, bytes(64)), sha256_of(tmp_path / "empty")
    assert sealed.put_file(tmp_path / "empty", digest) == ()
    sealed.copy_to((), digest, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == b""


@pytest.mark.parametrize(("store", "epoch", "takes"), [("a", 1, True), ("b", 1, False), ("a", 2, False)])
def test_events_under_other_keys_are_written_again(
    tmp_path: Path, store: str, epoch: int, *, takes: bool
) -> None:
    """After a rotation, and where a folder has the backups of another instance."""
    events = EventsCopy(log="log", config={}, last=0, pieces=())
    contents = Contents(
        number=1,
        made_at=AT,
        helix="0.1.0",
        last_sequence=0,
        shards=(ShardCopy(),),
        floors={},
        streams={},
        derived=Derived(messages=0, pieces=()),
        models={},
        settings={},
        keys=Keys(store="a", epoch=1, state="s"),
        events=events,
    )
    write_contents(tmp_path, contents)
    assert _last_events(tmp_path, Keys(store=store, epoch=epoch, state="t")) == (events if takes else None)
