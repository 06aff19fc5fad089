"""The consumer of doc2query: for each memories message one expansions message.

`predict` makes the questions, `keep` selects; `helix_shared.broker.worker` does delivery and dead letters.
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
"""Part of the message id: raise it with the rules, so that new results are not dropped as repetitions."""


def expansion_rows(row: derive.Row) -> list[dict[str, Any]]:
    """Rows of the expansions edge for one memory: one, or none without a useful question."""
    questions = keep(predict(row), f"{row['title']} {row['text']}")
    return [{"memory_id": row["memory_id"], "expansions": questions}] if questions else []


DERIVATION: Final = derive.Derivation(EDGE, VERSION, edges.expansions_schema(), COLUMNS, expansion_rows)
"""What `app` wires to the memories edge."""
