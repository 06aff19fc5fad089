"""The folder of the keys: who may read it, what an erasure destroys, copies and rotations."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from helix_shared.errors import CorruptArtifactError, NotFoundError, PermanentError, TemporaryError
from helix_shared.keys.key_store import KeyStore
from helix_shared.keys.owner import owner_code

ANA, BO = owner_code("acme", "ana"), owner_code("acme", "bo")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with keys of two users."""
    with KeyStore.held(tmp_path / "keys") as keys:
        assert keys.key_for(ANA, 1) != keys.key_for(BO, 1)
    return tmp_path / "keys"


@pytest.fixture
def held(folder: Path) -> Iterator[KeyStore]:
    """The store, held."""
    with KeyStore.held(folder) as keys:
        yield keys


def read_all(folder: Path) -> None:
    """Read every key of a store."""
    with KeyStore.held(folder) as keys:
        assert keys.find(f"1-{ANA}", 1)
        assert keys.state_key


def every_byte(folder: Path) -> bytes:
    """What the files hold."""
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


def test_nobody_else_may_read_a_key(folder: Path) -> None:
    """Files 0600, folders 0700."""
    assert {path.stat().st_mode & 0o777 for path in folder.rglob("*.key")} == {0o600}
    assert (folder / "store.json").stat().st_mode & 0o777 == 0o600
    assert {path.stat().st_mode & 0o077 for path in (folder, folder / "users")} == {0}


def test_a_key_stays_the_same_until_it_is_destroyed(folder: Path) -> None:
    """Destroyed for ana's events 2 and 5; bo keeps his, and ana the others."""
    with KeyStore.held(folder) as keys:
        before = {(one, n): keys.key_for(one, n) for one in (ANA, BO) for n in range(1, 7)}
        keys.destroy({ANA: [(2, 2), (5, 5)]})
    with KeyStore.held(folder) as keys:
        after = {(one, n): keys.key_for(one, n) for one in (ANA, BO) for n in range(1, 7)}
        for (owner, number), found in before.items():
            assert found is not None
            assert keys.find(found[0], number) == (
                None if (owner, number) in ((ANA, 2), (ANA, 5)) else found[1]
            )
    assert {named for named, found in after.items() if found is None} == {(ANA, 2), (ANA, 5)}


def test_an_erased_event_of_a_user_without_a_key_gets_none_later(held: KeyStore) -> None:
    """A backup that begins after the erasure must not take what the log is about to lose."""
    cy = owner_code("acme", "cy")
    held.destroy({cy: [(0, 8)]})
    assert held.key_for(cy, 8) is None
    assert held.key_for(cy, 9) is not None


def test_the_bytes_of_a_destroyed_key_are_in_no_file(folder: Path) -> None:
    """Neither the old tree nor the old state key."""
    with KeyStore.held(folder) as keys:
        root, state = (folder / f"users/1-{ANA}.key").read_bytes()[-32:], keys.state_key
        assert root in every_byte(folder)
        keys.destroy({ANA: [(3, 3)]})
        keys.replace_state_key()
        assert keys.state_key != state
    assert root not in every_byte(folder)
    assert state not in every_byte(folder)


def test_a_second_process_waits_for_its_turn(folder: Path, held: KeyStore) -> None:
    """An erasure during a backup is told to come again: the backup uses the keys until it is whole."""
    assert held.users == 2
    with pytest.raises(TemporaryError, match="again later"), KeyStore.held(folder, wait_seconds=0):
        pass


def test_what_a_killed_process_left_is_destroyed(folder: Path) -> None:
    """A draft may hold a key that is destroyed later."""
    drafts = [folder / "users" / f".1-{ANA}.key.77", folder / ".state.key.77"]
    for draft in drafts:
        draft.write_bytes((folder / f"users/1-{ANA}.key").read_bytes())
    with KeyStore.held(folder) as keys:
        assert keys.users == 2
    assert not any(draft.exists() for draft in drafts)


@pytest.mark.parametrize("name", ["state.key", f"users/1-{ANA}.key", "store.json"])
def test_a_damaged_key_is_no_destroyed_one(folder: Path, name: str) -> None:
    """It is named: an operator restores the copy; nothing is silently left out of a restore."""
    content = (folder / name).read_bytes()
    (folder / name).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(CorruptArtifactError, match="restore the copy of the keys"):
        read_all(folder)


def test_a_name_from_a_backup_names_no_other_file(held: KeyStore) -> None:
    """Backups may come from elsewhere."""
    for name in ("../state", "1-../../x", "", f"1-{ANA}\n"):
        with pytest.raises(CorruptArtifactError):
            held.find(name, 1)


def test_a_copy_follows_what_was_destroyed(folder: Path, tmp_path: Path) -> None:
    """Copied again, it opens no more than the store; keys of another instance are not written over."""
    copy = tmp_path / "copy"
    with KeyStore.held(folder) as keys:
        keys.copy_to(copy)
        opened = keys.find(f"1-{ANA}", 4)
        keys.destroy({ANA: [(4, 4)]})
    with KeyStore.held(copy) as copied:
        assert copied.find(f"1-{ANA}", 4) == opened
    with KeyStore.held(folder) as keys:
        keys.copy_to(copy)
        with KeyStore.held(copy) as copied:
            assert copied.find(f"1-{ANA}", 4) is None
            assert copied.state_name == keys.state_name
    with KeyStore.held(tmp_path / "other") as other, pytest.raises(PermanentError, match="another instance"):
        other.copy_to(copy)


def test_rotated_keys_are_new_and_older_ones_open_older_backups(folder: Path) -> None:
    """Until they are dropped."""
    with KeyStore.held(folder) as keys:
        found = keys.key_for(ANA, 1)
        state = keys.state_name
        keys.rotate(drops_old=False)
    with KeyStore.held(folder) as keys:
        assert found is not None
        assert keys.find(*(found[0], 1)) == found[1]
        fresh = keys.key_for(ANA, 1)
        assert fresh is not None
        assert fresh != found
        assert keys.state_name != state
        keys.destroy({ANA: [(1, 1)]})
        assert [keys.find(name, 1) for name in (found[0], fresh[0])] == [None, None]
        assert keys.find(f"1-{BO}", 1)
        keys.rotate(drops_old=True)
        assert keys.find(f"1-{BO}", 1) is None


def test_a_folder_without_keys_is_none(tmp_path: Path) -> None:
    """A restore must not begin a new store where a wrong folder was named."""
    with pytest.raises(NotFoundError), KeyStore.held(tmp_path, create=False):
        pass
    assert list(tmp_path.iterdir()) == []
