import hashlib
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from helix_shared.artifacts.object_storage.canary import prove_preconditions
from helix_shared.artifacts.object_storage.cloud_store import CHUNK_BYTES
from helix_shared.artifacts.object_storage.layout import GenerationPosition
from helix_shared.artifacts.object_storage.opening import open_store
from helix_shared.artifacts.object_storage.store import ConflictError, ObjectStore
from helix_shared.errors import (
    CorruptArtifactError,
    InvalidInputError,
    NotFoundError,
    PermanentError,
    TemporaryError,
)


@pytest.fixture
def store(either_store: ObjectStore) -> ObjectStore:
    """Both keep the same promises."""
    return either_store


def _s3_at(address: str, patch: pytest.MonkeyPatch) -> ObjectStore:
    for name, value in (
        ("AWS_ENDPOINT_URL", address),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("AWS_REGION", "us-east-1"),
    ):
        patch.setenv(name, value)
    return open_store("s3://helix/shard")


def test_one_of_many_creates_an_object(store: ObjectStore) -> None:
    """A manifest is written once, whoever comes later."""

    def create(number: int) -> bool:
        try:
            store.create("manifests/1", f"{number}".encode())
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(create, range(64))) == 1


def test_one_of_many_replaces_an_object_that_all_have_read(store: ObjectStore) -> None:
    """A pointer moves only from where its writer saw it."""
    version = store.create("CURRENT", b"0")

    def replace(number: int) -> bool:
        try:
            store.replace("CURRENT", f"writer {number}".encode(), version)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(replace, range(64))) == 1


def test_an_object_that_did_not_change_is_not_read_again(store: ObjectStore) -> None:
    """A replica asks every second."""
    version = store.create("CURRENT", b"one")
    found = store.read("CURRENT")
    assert found is not None
    assert (found.body, found.version) == (b"one", version)
    assert store.read("CURRENT", unless=version) is None
    store.replace("CURRENT", b"another", version)
    assert store.read("CURRENT", unless=version) is not None


def test_a_file_of_several_requests_comes_back_whole(store: ObjectStore, tmp_path: Path) -> None:
    """Long parts are uploaded and downloaded in chunks."""
    body = os.urandom(1 << 20) * (CHUNK_BYTES // (1 << 20) + 1) + b"end"
    (tmp_path / "file").write_bytes(body)
    store.upload("parts/ab/abc", tmp_path / "file")
    found = store.download("parts/ab/abc", tmp_path / "back", size=len(body))
    assert found == hashlib.sha256(body).hexdigest()
    assert (tmp_path / "back").read_bytes() == body
    assert [(one.path, one.size) for one in store.list("parts")] == [("parts/ab/abc", len(body))]


def test_a_truncated_and_a_missing_object_are_told_apart(store: ObjectStore, tmp_path: Path) -> None:
    """Each has its own error."""
    store.create("parts/ab/abc", b"half")
    with pytest.raises(CorruptArtifactError, match="has 4 bytes instead of 8"):
        store.download("parts/ab/abc", tmp_path / "one", size=8)
    store.delete(["parts/ab/abc", "parts/ab/never"])
    with pytest.raises(NotFoundError, match="parts/ab/abc"):
        store.download("parts/ab/abc", tmp_path / "two", size=8)


def test_the_canary_passes_and_keeps_nothing(store: ObjectStore) -> None:
    """It honours both preconditions."""
    prove_preconditions(store)
    assert list(store.list("canary")) == []


def test_a_store_that_ignores_preconditions_is_refused(
    careless_address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the canary, a second create would pass for the first: two writers, two generations."""
    store = _s3_at(careless_address, monkeypatch)
    store.create("manifests/1", b"of one writer")
    store.create("manifests/1", b"of the other")
    with pytest.raises(PermanentError, match=r"ignores If-None-Match.*two writers"):
        prove_preconditions(store)


def test_a_store_that_does_not_answer_is_a_temporary_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens at the address; the uploader tries again later."""
    with pytest.raises(TemporaryError, match="does not answer"):
        _s3_at("http://127.0.0.1:1", monkeypatch).create("CURRENT", b"")


def test_an_unknown_address_is_refused() -> None:
    """The setting names a store that obstore has."""
    with pytest.raises(InvalidInputError, match="bucket"):
        open_store("ftp://example/bucket")


def test_a_later_writer_is_newer_than_a_higher_number() -> None:
    """Positions and their paths have the same order."""
    positions = [GenerationPosition(9, 100), GenerationPosition(10, 2), GenerationPosition(10, 10)]
    assert sorted(positions) == positions
    assert sorted(position.path for position in positions) == [position.path for position in positions]
    assert [GenerationPosition.of_path(position.path) for position in positions] == positions
    assert GenerationPosition.of_path("manifests/other.json") is None


@pytest.mark.parametrize(
    ("address", "client"), [("file:///tmp/objects", "obstore"), ("nats://127.0.0.1:1/shard", "nats")]
)
def test_only_the_client_of_the_address_is_imported(address: str, client: str) -> None:
    """A query service whose bucket is no bucket of NATS stays without a client of NATS."""
    code = (
        "import sys; from helix_shared.artifacts.object_storage.opening import open_store;"
        f"open_store({address!r}); print(*sorted({{'nats', 'obstore'}} & sys.modules.keys()))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.split() == [client]
