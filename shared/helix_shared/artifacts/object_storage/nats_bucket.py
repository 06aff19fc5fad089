"""The stream of the bucket of NATS: metas, chunks, and the removal of their bytes.

An object is as the object store of NATS has it: its chunks on one subject, and a meta message that names that
subject, with size and digest. The meta comes last, and replaces an older one; it may require the sequence
that the older one has. Ours also names the sequences of the chunks, so that each is read directly, without a
consumer, and deleted with its bytes: a purge of a subject leaves them on the disk of the server. The subject
of the chunks begins with the name of the object, so chunks that no meta names have an owner.

Metas are read from the leader. A replica of the stream may give a chunk; what it misses the leader is asked.
"""

from __future__ import annotations

import base64
import json
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Self

from nats.js import api
from nats.js.errors import APIError, NoStreamResponseError, NotFoundError

from helix_memory.transport.connection import NO_MESSAGE_CODES
from helix_shared.object_bucket import BUCKET, CHUNKS, METAS, STREAM

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nats.aio.client import Client
    from nats.aio.msg import Msg

REQUEST_SECONDS: Final = 5.0
MOST_CHUNK_BYTES: Final = 1024 * 1024
"""The default limit of a server for one message; a server with a lower limit gets smaller chunks."""
HEADER_BYTES: Final = 8 * 1024
"""Kept free of a message for subject and headers."""
BATCH: Final = 512
_WRONG_SEQUENCE: Final = (10071, 10164)
_NO_STREAM: Final = 10059
_DIGEST: Final = "SHA-256="


def is_without_stream(error: APIError) -> bool:
    """Whether a server says that the stream of the bucket does not exist."""
    return error.err_code == _NO_STREAM


class ChangedError(Exception):
    """The meta is not the one that was required."""


@dataclass(frozen=True, slots=True)
class Meta:
    """What a bucket says about an object."""

    name: str
    nuid: str
    """Last tokens of the subject of its chunks."""
    size: int
    chunks: tuple[int, ...]
    """Sequences of its chunks, in their order."""
    sha256: bytes
    sequence: int = 0
    """Of the meta itself; grows with each content of the object."""
    modified: datetime | None = None
    """By the clock of the server."""

    def encoded(self) -> bytes:
        """The body of the message."""
        found = {
            "name": self.name,
            "bucket": BUCKET,
            "nuid": self.nuid,
            "size": self.size,
            "chunks": len(self.chunks),
            "digest": _DIGEST + base64.urlsafe_b64encode(self.sha256).decode(),
            "metadata": {"sequences": ",".join(map(str, self.chunks))},
        }
        return json.dumps(found).encode()

    @classmethod
    def decoded(cls, body: bytes, sequence: int, modified: datetime | None) -> Self:
        """The inverse; what another client wrote or deleted has no chunks.

        Raises:
            ValueError: it is no meta.
        """
        found: dict[str, Any] = json.loads(body)
        sequences = (found.get("metadata") or {}).get("sequences") or ""
        return cls(
            name=str(found["name"]),
            nuid=str(found.get("nuid") or ""),
            size=int(found.get("size") or 0),
            chunks=tuple(map(int, filter(None, sequences.split(",")))),
            sha256=base64.urlsafe_b64decode(str(found.get("digest") or "").removeprefix(_DIGEST)),
            sequence=sequence,
            modified=modified,
        )


def new_nuid(name: str) -> str:
    """A subject for the chunks of a new content of an object."""
    return f"{_token(name)}.{uuid.uuid4().hex}"


def owner_of(nuid: str) -> str:
    """The name of the object whose content has this subject; empty for one of another client."""
    token, _, own = nuid.partition(".")
    return base64.urlsafe_b64decode(token).decode() if own else ""


class NatsBucket:
    """The bucket, over one connection."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._jetstream = client.jetstream(timeout=REQUEST_SECONDS)

    async def chunk_bytes(self) -> int:
        """Most bytes of a chunk: what this server takes as one message."""
        return min(MOST_CHUNK_BYTES, int(self._client.max_payload)) - HEADER_BYTES

    async def add_chunk(self, nuid: str, body: bytes) -> int:
        """Store a chunk; returns its sequence."""
        return (await self._jetstream.publish(f"{CHUNKS}.{nuid}", body, timeout=REQUEST_SECONDS)).seq

    async def add_meta(self, meta: Meta, expected: int | None) -> int:
        """Store a meta in place of an older one; `expected`: only of that sequence, 0: only if there is none.

        Raises:
            ChangedError: another one is there.
        """
        headers = {api.Header.ROLLUP.value: "sub"}
        if expected is not None:
            headers[api.Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value] = str(expected)
        subject = f"{METAS}.{_token(meta.name)}"
        try:
            stored = await self._jetstream.publish(
                subject, meta.encoded(), headers=headers, timeout=REQUEST_SECONDS
            )
        except APIError as error:
            if error.err_code in _WRONG_SEQUENCE:
                raise ChangedError from error
            raise
        return stored.seq

    async def meta(self, name: str) -> Meta | None:
        """The meta of an object; None if there is no such object."""
        try:
            found = await self._jetstream.get_last_msg(STREAM, f"{METAS}.{_token(name)}")
        except NotFoundError as error:
            if _is_missing(error):
                return None
            raise
        return Meta.decoded(found.data or b"", found.seq or 0, found.time)

    async def chunks(self, meta: Meta, places: Iterable[int]) -> list[bytes | None]:
        """Chunks of an object by their places; None for each that is not there."""
        return [await self._chunk(meta, meta.chunks[place]) for place in places]

    async def _chunk(self, meta: Meta, sequence: int) -> bytes | None:
        for direct in (True, False):
            try:
                found = await self._jetstream.get_msg(STREAM, sequence, direct=direct)
            except NotFoundError as error:
                if not direct and not _is_missing(error):
                    raise
                continue
            return found.data if found.subject == f"{CHUNKS}.{meta.nuid}" else None
        return None

    async def metas(self) -> list[Meta]:
        """The metas of all objects, by their sequences; a moment ago, if a replica of the stream answers."""
        found: list[Meta] = []
        start, pending = 1, 1
        replies = await self._client.subscribe(self._client.new_inbox())
        try:
            while pending:
                wanted = {"seq": start, "next_by_subj": f"{METAS}.>", "batch": BATCH}
                await self._client.publish(
                    f"$JS.API.DIRECT.GET.{STREAM}", json.dumps(wanted).encode(), reply=replies.subject
                )
                while "Status" not in (headers := (message := await _next(replies)).headers or {}):
                    at = datetime.fromisoformat(headers["Nats-Time-Stamp"])
                    found.append(Meta.decoded(message.data, int(headers["Nats-Sequence"]), at))
                if headers["Status"] == "404":
                    break
                if headers["Status"] == "503":  # nobody answers this subject
                    raise NoStreamResponseError
                if headers["Status"] != "204":
                    raise APIError.from_msg(message)
                pending, start = int(headers["Nats-Num-Pending"]), int(headers["Nats-Last-Sequence"]) + 1
        finally:
            await replies.unsubscribe()
        return found

    async def chunk_counts(self) -> dict[str, int]:
        """How many chunks each subject of chunks has, by its last tokens."""
        found: dict[str, int] = {}
        while True:
            wanted = {"subjects_filter": f"{CHUNKS}.>", "offset": len(found)}
            reply = await self._client.request(
                f"$JS.API.STREAM.INFO.{STREAM}", json.dumps(wanted).encode(), timeout=REQUEST_SECONDS
            )
            info = json.loads(reply.data)
            if "error" in info:
                APIError.from_error(info["error"])
            page = info["state"].get("subjects") or {}
            found |= {subject.removeprefix(f"{CHUNKS}."): count for subject, count in page.items()}
            if not page or len(found) >= int(info.get("total") or 0):
                return found

    async def erase(self, sequences: Sequence[int]) -> None:
        """Delete messages and overwrite their bytes; one that is not there counts as deleted."""
        for sequence in sequences:
            try:
                await self._jetstream.delete_msg(STREAM, sequence)
            except APIError as error:
                if error.err_code not in NO_MESSAGE_CODES:
                    raise

    async def erase_chunks(self, nuid: str) -> None:
        """The same, of all chunks of a subject that no meta names."""
        while (found := await self._last_chunk(nuid)) is not None:
            await self.erase([found.seq or 0])

    async def last_written(self, nuid: str) -> datetime | None:
        """When the newest chunk of a subject was stored; None if there is none."""
        found = await self._last_chunk(nuid)
        return None if found is None else found.time

    async def purge_older(self, name: str, before: int) -> None:
        """Remove chunks of older contents of an object; their bytes may stay on the disk of the server."""
        await self._jetstream.purge_stream(STREAM, seq=before, subject=f"{CHUNKS}.{_token(name)}.*")

    async def _last_chunk(self, nuid: str) -> api.RawStreamMsg | None:
        try:
            return await self._jetstream.get_last_msg(STREAM, f"{CHUNKS}.{nuid}")
        except NotFoundError as error:
            if _is_missing(error):
                return None
            raise


def _token(name: str) -> str:
    """An object name as one token of a subject, as the object store of NATS writes it."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def _is_missing(error: NotFoundError) -> bool:
    """Whether a message is missing, and not its stream."""
    return not is_without_stream(error)


async def _next(replies: Any) -> Msg:
    message: Msg = await replies.next_msg(timeout=REQUEST_SECONDS)
    return message
