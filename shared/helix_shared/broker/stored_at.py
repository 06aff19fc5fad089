"""When an event was stored: by this server, or, for an imported one, by the server that it came from.

An import publishes each event with its first time of storage (`Helix-Stored-At`), because `as_of`, validity
and words like "yesterday" count from it. Whoever may publish events could claim any time. So the header
counts only with a seal: an HMAC over subject, message id, time and body, with a key that lies in the bucket
HELIX_IMPORTS. Only an operator has access to that bucket (and the workers may read it). Without a seal, or
with a wrong one, the time of this server counts.

Messages pass `check_times` where they are read from NATS; a `Helix-Stored-At` that is left then is true.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import secrets
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from nats.js.errors import BucketNotFoundError, KeyWrongLastSequenceError
from nats.js.errors import NotFoundError as NoStreamError

from helix_memory import subjects
from helix_memory.identity import joined
from helix_memory.transport.connection import UNANSWERED
from helix_shared.errors import TemporaryError

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

IMPORTS: Final = "HELIX_IMPORTS"
"""Bucket with the key of the seals; a stream `KV_HELIX_IMPORTS`."""
SEAL_KEY: Final = "seal"
IMPORT_HEADERS: Final = frozenset((subjects.STORED_AT_HEADER, subjects.SEAL_HEADER))
_KEY_BYTES: Final = 32

_keys: WeakKeyDictionary[Client, bytes] = WeakKeyDictionary()


def stored_at(message: Msg) -> datetime:
    """When a message that passed `check_times` was first stored."""
    claimed = (message.headers or {}).get(subjects.STORED_AT_HEADER, "")
    return _moment(claimed) or message.metadata.timestamp


def sealed(key: bytes, subject: str, body: bytes, message_id: str, moment: datetime) -> dict[str, str]:
    """The headers that give an imported event its first time of storage."""
    stamp = moment.astimezone(UTC).isoformat(timespec="microseconds")
    seal = _seal(key, subject, body, message_id, stamp)
    return {subjects.STORED_AT_HEADER: stamp, subjects.SEAL_HEADER: seal}


async def sealing_key(client: Client) -> bytes:
    """The key of this instance; made where there is none.

    Raises:
        TemporaryError: NATS does not answer, or refuses access to the bucket.
    """
    found = await _key(client)
    if found is not None:
        return found
    try:
        bucket = await client.jetstream().key_value(IMPORTS)
        with contextlib.suppress(KeyWrongLastSequenceError):
            await bucket.create(SEAL_KEY, secrets.token_bytes(_KEY_BYTES))
    except (BucketNotFoundError, NoStreamError) as error:
        raise TemporaryError(f"bucket {IMPORTS} does not exist; run `helix provision`") from error
    except UNANSWERED as error:
        raise TemporaryError(f"bucket {IMPORTS} cannot be written: {error}") from error
    found = await _key(client)
    if found is None:
        raise TemporaryError(f"bucket {IMPORTS} keeps no key")
    return found


async def check_times(client: Client, messages: Iterable[Msg]) -> None:
    """Remove the header from every message whose seal is missing or wrong.

    Raises:
        TemporaryError: NATS does not give the key; the messages must not be used.
    """
    for message in messages:
        if subjects.STORED_AT_HEADER in (message.headers or {}) and not await is_sealed(
            client, message.subject, message.data, message.headers or {}
        ):
            message.headers = {
                name: value for name, value in (message.headers or {}).items() if name not in IMPORT_HEADERS
            }


async def is_sealed(client: Client, subject: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether the header of a message is one that an import of this instance wrote.

    Raises:
        TemporaryError: NATS does not give the key.
    """
    stamp = headers.get(subjects.STORED_AT_HEADER, "")
    key = await _key(client)
    if key is None or _moment(stamp) is None:
        return False
    expected = _seal(key, subject, body, headers.get(subjects.MSG_ID_HEADER, ""), stamp)
    return hmac.compare_digest(expected.encode(), headers.get(subjects.SEAL_HEADER, "").encode())


def checked_time(headers: Mapping[str, str]) -> datetime | None:
    """The time in a header that `is_sealed` accepted."""
    return _moment(headers.get(subjects.STORED_AT_HEADER, ""))


async def _key(client: Client) -> bytes | None:
    if client in _keys:
        return _keys[client]
    try:
        # from the leader: without the key an imported event would get another time
        entry = await client.jetstream().get_last_msg(f"KV_{IMPORTS}", f"$KV.{IMPORTS}.{SEAL_KEY}")
    except NoStreamError:
        return None
    except UNANSWERED as error:
        raise TemporaryError(f"bucket {IMPORTS} cannot be read: {error}") from error
    if not entry.data:
        return None
    _keys[client] = entry.data
    return entry.data


def _seal(key: bytes, subject: str, body: bytes, message_id: str, stamp: str) -> str:
    signed = joined(subject, message_id, stamp) + hashlib.sha256(body).digest()
    return hmac.new(key, signed, hashlib.sha256).hexdigest()


def _moment(stamp: str) -> datetime | None:
    if not stamp:
        return None
    try:
        moment = datetime.fromisoformat(stamp)
        return moment.astimezone(UTC) if moment.tzinfo is not None else None
    except (ValueError, OverflowError):  # a time in another zone may lie before the calendar
        return None
