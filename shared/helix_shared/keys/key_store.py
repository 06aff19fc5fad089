"""The folder of the keys, `keys` of a data folder: no backup holds it, and an erasure destroys keys in it.

    store.json                   which store it is, and how often its keys were rotated
    state.key                    of what a backup holds of all users together; replaced by every erasure
    users/<epoch>-<owner>.key    a `KeyTree` for each user, and for each tenant

Files have mode 0600. One process at a time holds the folder: a backup until its manifest is written, so that
an erasure destroys every key that the backup used. A file is replaced by a whole new one, then the old bytes
are overwritten. That is as much as a program can do: a file system or a disk may keep blocks of them.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Self

from helix_shared.artifacts.files.durability import sync
from helix_shared.errors import CorruptArtifactError, NotFoundError, PermanentError, TemporaryError
from helix_shared.keys.key_tree import KeyTree
from helix_shared.machine.whole_file import SECRET, write_whole

KEYS: Final = "keys"
"""Name of the folder in a data folder."""
STATE_KEY_BYTES: Final = 64
WAIT_SECONDS: Final = 10.0
"""An erasure has the keys for milliseconds, a backup until it is whole."""
FORMAT: Final = "helix-keys"
VERSION: Final = 1
_CARD: Final = "store.json"
_STATE: Final = "state.key"
_USERS: Final = "users"
_LOCK: Final = "lock"
_MAGIC: Final = b"HELIXKEY 1\n"
_BODY: Final = len(_MAGIC) + 32
"""Where the content begins, after its SHA-256."""
_NAME: Final = re.compile(r"^[1-9][0-9]{0,8}-[0-9a-f]{16}\Z")
_POLL_SECONDS: Final = 0.05
_FOLDER_MODE: Final = 0o700

Range = tuple[int, int]
"""The first and the last sequence of some events."""


class KeyStore:
    """The keys of one instance, while this process holds them."""

    def __init__(self, folder: Path, name: str, epoch: int) -> None:
        self._folder = folder
        self.name = name
        """Names the store: a backup says of which it is."""
        self.epoch = epoch
        """Grows with each rotation; new events of a user are under the key of the last one."""
        self._trees: dict[str, KeyTree | None] = {}

    @classmethod
    @contextlib.contextmanager
    def held(cls, folder: Path, *, create: bool = True, wait_seconds: float = WAIT_SECONDS) -> Iterator[Self]:
        """The store in a folder, which no other process has meanwhile.

        Raises:
            TemporaryError: another process still has it after `wait_seconds`: a backup, or an erasure.
            NotFoundError: there is none, and `create` is off.
            CorruptArtifactError: it is damaged.
        """
        if not create and not (folder / _CARD).is_file():
            raise NotFoundError(f"{folder} holds no keys: {_CARD} is missing")
        _make(folder)
        with (folder / _LOCK).open("w") as handle:
            _take(handle, folder, wait_seconds)
            _wipe_drafts(folder)
            if not (folder / _CARD).exists():
                _begin(folder)
            yield cls(folder, *_read_card(folder))

    @property
    def state_key(self) -> bytes:
        """The key of what a backup holds of all users together; 64 bytes.

        Raises:
            CorruptArtifactError: it is damaged or missing.
        """
        return _read(self._folder / _STATE)

    @property
    def state_name(self) -> str:
        """Names the state key, and says nothing of it."""
        return hashlib.sha256(b"name" + self.state_key).hexdigest()

    def replace_state_key(self) -> None:
        """Destroy the state key: generations and copies of streams in all backups become unreadable."""
        _replace(self._folder / _STATE, secrets.token_bytes(STATE_KEY_BYTES))

    def key_for(self, owner: str, sequence: int) -> tuple[str, bytes] | None:
        """Name of the owner's key, which is made where there is none, and the key of one event.

        None: the event was erased.
        """
        name = f"{self.epoch}-{owner}"
        if self._tree(name) is None:
            self._trees[name] = KeyTree.fresh()
            self._save(name)
        key = self.find(name, sequence)
        return None if key is None else (name, key)

    def find(self, name: str, sequence: int) -> bytes | None:
        """The key of an event under the key of this name; None where it is destroyed.

        Raises:
            CorruptArtifactError: the key is damaged.
        """
        tree = self._tree(name)
        return None if tree is None else tree.key_of(sequence)

    def destroy(self, erased: Mapping[str, Sequence[Range]]) -> None:
        """Destroy the keys of events by owner: no backup shows them, and no later one takes them."""
        for owner, ranges in erased.items():
            names = {f"{self.epoch}-{owner}", *self._names(owner)}
            for name in names:
                tree = self._tree(name) or KeyTree.fresh()
                changed = [tree.forget(first, last) for first, last in ranges]
                if any(changed):
                    self._trees[name] = tree
                    self._save(name)

    def rotate(self, *, drops_old: bool) -> None:
        """New keys for what is backed up from now on; `drops_old`: older backups become unreadable."""
        older = self._files()
        self.epoch += 1
        _write_card(self._folder, self.name, self.epoch)
        self.replace_state_key()
        for path in older if drops_old else ():
            _wipe(path)
        self._trees.clear()

    def copy_to(self, folder: Path) -> None:
        """Make `folder` the copy of this store: what was destroyed since the last copy is destroyed there.

        Raises:
            PermanentError: the folder has the keys of another instance.
        """
        if (folder / _CARD).exists() and _read_card(folder)[0] != self.name:
            raise PermanentError(f"{folder} holds the keys of another instance; name another folder")
        _make(folder)
        names = [_STATE, *(f"{_USERS}/{path.name}" for path in self._files())]
        for name in names:
            _replace(folder / name, _read(self._folder / name))
        for path in (folder / _USERS).iterdir():
            if f"{_USERS}/{path.name}" not in names:
                _wipe(path)
        _write_card(folder, self.name, self.epoch)
        sync(folder)

    @property
    def users(self) -> int:
        """Number of users and tenants with a key."""
        return len({path.stem.partition("-")[2] for path in self._files()})

    def _files(self) -> list[Path]:
        return sorted((self._folder / _USERS).glob("*.key"))

    def _names(self, owner: str) -> list[str]:
        return [path.stem for path in (self._folder / _USERS).glob(f"*-{owner}.key")]

    def _tree(self, name: str) -> KeyTree | None:
        if name not in self._trees:
            path = self._path(name)
            self._trees[name] = KeyTree.from_bytes(_read(path)) if path.exists() else None
        return self._trees[name]

    def _save(self, name: str) -> None:
        tree = self._trees[name]
        if tree is not None:
            _replace(self._path(name), tree.to_bytes())

    def _path(self, name: str) -> Path:
        if not _NAME.match(name):
            raise CorruptArtifactError(f"no name of a key: {name[:80]!r}")
        return self._folder / _USERS / f"{name}.key"


def _take(handle: IO[str], folder: Path, seconds: float) -> None:
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() >= until:
                reason = f"a backup or an erasure has the keys in {folder}; again later"
                raise TemporaryError(reason) from error
            time.sleep(_POLL_SECONDS)
        else:
            return


def _make(folder: Path) -> None:
    for path in (folder, folder / _USERS):
        path.mkdir(parents=True, exist_ok=True, mode=_FOLDER_MODE)


def _begin(folder: Path) -> None:
    """A new store; the card is written last."""
    _replace(folder / _STATE, secrets.token_bytes(STATE_KEY_BYTES))
    _write_card(folder, secrets.token_hex(16), 1)


def _read_card(folder: Path) -> tuple[str, int]:
    """Name and epoch of a store."""
    try:
        fields = json.loads((folder / _CARD).read_bytes())
        if fields["format"] != FORMAT or fields["version"] > VERSION:
            raise PermanentError(f"{folder / _CARD} is of another format; this release reads up to {VERSION}")
        return str(fields["name"]), int(fields["epoch"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorruptArtifactError(
            f"{folder / _CARD} cannot be read: restore the copy of the keys"
        ) from error


def _write_card(folder: Path, name: str, epoch: int) -> None:
    fields = {"format": FORMAT, "version": VERSION, "name": name, "epoch": epoch}
    _write(folder / _CARD, json.dumps(fields).encode())
    sync(folder)


def _read(path: Path) -> bytes:
    """The content of a key file, compared with its checksum."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise CorruptArtifactError(f"{path} cannot be read: restore the copy of the keys") from error
    head, digest, body = content[: len(_MAGIC)], content[len(_MAGIC) : _BODY], content[_BODY:]
    if head != _MAGIC or hashlib.sha256(body).digest() != digest:
        raise CorruptArtifactError(f"{path} is damaged: restore the copy of the keys")
    return body


def _replace(path: Path, body: bytes) -> None:
    """Replace a key file, and overwrite what it held."""
    _write(path, _MAGIC + hashlib.sha256(body).digest() + body)


def _write(path: Path, content: bytes) -> None:
    with contextlib.ExitStack() as opened:
        old = opened.enter_context(path.open("r+b")) if path.exists() else None
        write_whole(path, content, mode=SECRET, synced=True)
        sync(path.parent)
        if old is not None:
            _overwrite(old)


def _wipe(path: Path) -> None:
    with path.open("r+b") as file:
        path.unlink()
        sync(path.parent)
        _overwrite(file)


def _wipe_drafts(folder: Path) -> None:
    """Destroy what a process that was killed left: its keys may be destroyed ones by now."""
    for path in (*folder.glob(".*"), *(folder / _USERS).glob(".*")):
        _wipe(path)


def _overwrite(file: IO[bytes]) -> None:
    """Write over the bytes of a file that has no name any more."""
    file.write(bytes(os.fstat(file.fileno()).st_size))
    file.flush()
    os.fsync(file.fileno())
