"""Residue in the messages of every stream of Helix, headers included."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

from nats.js.errors import NotFoundError

from helix_cli.residue.found import Residue
from helix_consolidation.delivery.erasing.reading import messages_of
from helix_memory import subjects

if TYPE_CHECKING:
    from nats.js import JetStreamContext

    from helix_cli.residue.canaries import Canaries

STREAMS = (
    subjects.EVENTS_STREAM,
    subjects.DERIVED_STREAM,
    subjects.PAIRS_STREAM,
    subjects.ANSWERS_STREAM,
    subjects.ACCESS_STREAM,
    subjects.AUDIT_STREAM,
    subjects.CALLS_STREAM,
    subjects.DLQ_STREAM,
    subjects.ADVISORY_STREAM,
)


async def residue_in_streams(jetstream: JetStreamContext, canaries: Canaries) -> Residue:
    """How often something is found, by stream.

    Raises:
        nats.errors.Error: the server does not answer.
    """
    found: Counter[str] = Counter()
    for stream in STREAMS:
        try:
            await jetstream.stream_info(stream)
        except NotFoundError:
            continue
        async for message in messages_of(jetstream, stream, ">"):
            headers = json.dumps(message.headers or {}, ensure_ascii=False)
            content = message.data + b"\n" + headers.encode("utf-8", "surrogatepass")
            if count := canaries.count(content):
                found[stream] += count
    return Residue(found)
