"""Opens the object store of an address; the client of another kind of store is not imported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from helix_memory.transport.credentials import NatsCredentials
    from helix_shared.artifacts.object_storage.store import ObjectStore

ADDRESSES: Final = r"^(|(s3|gs|az)://[^/\s]\S*|file:///\S+|nats://[^/\s@]+(/\S*)?)$"
"""What a setting may name; empty: no object storage."""


def open_store(url: str, *, credentials: NatsCredentials | None = None) -> ObjectStore:
    """Open the store at an address of `ADDRESSES`; sends no request. `credentials` are those for NATS.

    Raises:
        InvalidInputError: the address or a setting of the environment is wrong, or the extra
            `object-storage` is not installed.
    """
    try:
        if url.startswith("nats://"):
            from helix_shared.artifacts.object_storage.nats_store import NatsStore  # noqa: PLC0415  see above

            return NatsStore.open(url, credentials=credentials)
        from helix_shared.artifacts.object_storage.cloud_store import CloudStore  # noqa: PLC0415  see above
    except ImportError as error:
        raise InvalidInputError("bucket", "needs the extra `object-storage`: it is not installed") from error
    return CloudStore.open(url)
