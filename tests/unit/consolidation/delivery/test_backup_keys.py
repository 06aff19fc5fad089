"""An erasure and a backup need the same keys: the erasure comes after the backup, and reaches it."""

from pathlib import Path

import pytest

from helix_consolidation.delivery.erasing.backup_keys import BackupKeys, KeyedEvent
from helix_shared.errors import NotFoundError, TemporaryError
from helix_shared.keys.key_store import KEYS, KeyStore
from helix_shared.keys.owner import owner_code
from helix_shared.shard_map import first_folder, folder_of_shard

ANA, BO = owner_code("acme", "ana"), owner_code("acme", "bo")
SUBJECT = "helix.v1.events.acme.s1.memory"


async def test_an_erasure_waits_for_a_backup_and_then_reaches_it(tmp_path: Path) -> None:
    """While the backup has the keys nothing is destroyed, so the event does not leave the log either."""
    erasing, events = BackupKeys(tmp_path), {4: KeyedEvent(SUBJECT, ANA), 5: KeyedEvent(SUBJECT, BO)}
    with KeyStore.held(tmp_path / KEYS) as keys:
        used = [keys.key_for(owner, number) for owner, number in ((ANA, 4), (BO, 5), (ANA, 6))]
        state = keys.state_key
        for destroy in (
            erasing.destroy(events),
            erasing.destroy_user(ANA, before=9),
            erasing.replace_state_key(),
        ):
            with pytest.raises(TemporaryError, match="again later"):
                await destroy
    await erasing.destroy(events)
    await erasing.replace_state_key()
    with KeyStore.held(tmp_path / KEYS) as keys:
        names = [found[0] for found in used if found is not None]
        assert [keys.find(name, number) is None for name, number in zip(names, (4, 5, 6), strict=True)] == [
            True,
            True,
            False,
        ]
        assert keys.state_key != state


async def test_a_user_of_whom_nothing_is_left_has_no_key_before_the_erasure(tmp_path: Path) -> None:
    """Also for events that the log lost earlier; what comes after it has a key."""
    await BackupKeys(tmp_path).destroy_user(ANA, before=9)
    with KeyStore.held(tmp_path / KEYS) as keys:
        assert [keys.key_for(ANA, number) is None for number in (1, 8, 9)] == [True, True, False]
        assert keys.key_for(BO, 1) is not None


async def test_an_erasure_without_events_makes_no_keys(tmp_path: Path) -> None:
    """A data folder that was never backed up stays as it is."""
    await BackupKeys(tmp_path).destroy({})
    with pytest.raises(NotFoundError), KeyStore.held(tmp_path / KEYS, create=False):
        pass


async def test_the_writers_of_all_shards_share_the_keys_of_their_home(tmp_path: Path) -> None:
    """A tenant may be moved: its next writer erases what was backed up under the keys of the first one."""
    second = folder_of_shard(tmp_path, 1)
    second.mkdir(parents=True)
    with KeyStore.held(tmp_path / KEYS) as keys:
        assert (found := keys.key_for(ANA, 4)) is not None
    await BackupKeys(first_folder(second, 1)).destroy({4: KeyedEvent(SUBJECT, ANA)})
    with KeyStore.held(tmp_path / KEYS) as keys:
        assert keys.find(found[0], 4) is None


def test_a_shard_whose_folder_lies_elsewhere_has_its_own(tmp_path: Path) -> None:
    """Such as that of a writer on a machine of its own."""
    assert first_folder(tmp_path, 0) == tmp_path
    assert first_folder(tmp_path / "volume", 1) == tmp_path / "volume"
    assert first_folder(tmp_path / "shards/2", 1) == tmp_path / "shards/2"
    assert first_folder(tmp_path / "shards/1", 1) == tmp_path
