"""doc2query on the wire: every memories message is answered by one expansions message.

The questions come from `predict` and pass through `keep`; delivery and dead letters are
`helix_shared.broker`'s.
"""

from __future__ import annotations

from typing import Any, Final

from helix_doc2query.keep import keep
from helix_doc2query.predict import COLUMNS, predict
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.worker import derive

SERVICE: Final = streams.DOC2QUERY
EDGE: Final = "expansions"
VERSION: Final = "1"
"""Raised when the rules change, so that a re-run is not taken for a repeat."""


def expansion_rows(row: derive.Row) -> list[dict[str, Any]]:
    """Rows of the expansions edge for one memory: one, or none when no question is worth keeping."""
    questions = keep(predict(row), f"{row['title']} {row['text']}")
    return [{"memory_id": row["memory_id"], "expansions": questions}] if questions else []


DERIVATION: Final = derive.Derivation(EDGE, VERSION, edges.expansions_schema(), COLUMNS, expansion_rows)
"""What `app` wires to the memories edge."""
