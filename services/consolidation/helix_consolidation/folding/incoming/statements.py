"""Statements of a memories message: the rows of its own event, as this message delivers them.

Later revisions of a row, which other events' messages carry, give none: a decision must not depend on them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from helix_consolidation.folding.incoming.codes import content_code
from helix_consolidation.folding.incoming.rows import plain_rows
from helix_consolidation.ledger.event_reach import value_code
from helix_consolidation.statements.statement_row import StatementRow, statement_row
from helix_memory.vocabulary.source_classes import CONVERSATION
from helix_shared.audience import audience_of, owner_of
from helix_shared.identity import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

NEVER_RELATED: Final = ("question", "acknowledgement")
"""Speech acts that state nothing: they neither change what is known nor are changed."""
_TEXTS: Final = ("text", "title", "context", "speaker", "role", "speech_act", "source_class", "type", "about")
_TIMES: Final = ("occurred_at", "event_start", "event_end")
_READ: Final = (
    *_TEXTS, *_TIMES, "tenant_id", "user_id", "shared", "acl", "session_id", "content_hash", "derived_from",
)  # fmt: skip

_DIALOGUE: Final = "dialogue"
"""Name of the source classes of `CONVERSATION` in the code of a group."""


def statement_group(tenant_id: str, owner: str, source_class: str, audience: Sequence[str]) -> int:
    """63-bit code of a group; statements of different groups are never compared.

    Turns of the user and of the agent are one group: the user may replace "Moved to 10 May" of the agent.
    Statements of a tool or a document are in other groups.
    """
    source = _DIALOGUE if source_class in CONVERSATION else source_class
    text = joined("statement", tenant_id, owner, source, *sorted(set(audience)))
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest()) >> 1


def statements_of(
    rows: pa.RecordBatch, chosen: Sequence[tuple[int, int]], *, sequence: int, derived: int
) -> list[StatementRow]:
    """Statements of rows, given as (row, ordinal), of the event `sequence`."""
    if not chosen:
        return []
    places = pa.array([row for row, _ in chosen], pa.int64())
    own = rows.select([*_READ, "minhash", "vector"]).take(places)
    vectors = own["vector"].flatten().to_numpy(zero_copy_only=False)
    matrix = vectors.astype(np.float32).reshape(len(chosen), -1)
    found = []
    columns = zip(chosen, plain_rows(own, (*_READ, "minhash")), matrix, strict=True)
    for (_, ordinal), values, vector in columns:
        if values["speech_act"] not in NEVER_RELATED:
            keys = {"ordinal": ordinal, "sequence": sequence, "derived": derived}
            found.append(_statement(values, vector, values["minhash"], **keys))
    return found


def _statement(values: dict[str, Any], vector: Any, minhash: bytes, **keys: int) -> StatementRow:
    tenant = values["tenant_id"]
    owner, audience = owner_of(values["user_id"], shared=values["shared"]), audience_of(values["acl"])
    payload = {name: values[name] for name in (*_TEXTS, *_TIMES)}
    payload["session"] = value_code(tenant, "session", values["session_id"])
    payload["is_derived"] = bool(values["derived_from"])
    return statement_row(
        payload,
        vector,
        minhash,
        group=statement_group(tenant, owner, values["source_class"], audience),
        content=content_code(values["content_hash"]),
        **keys,
    )
