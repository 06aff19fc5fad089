"""kg on the wire: every memories message is answered by one links message.

The links themselves come from `extract` and `resolve`; delivery and dead letters are
`helix_shared.broker`'s.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

from helix_kg.extract import COLUMNS, Link, extract
from helix_kg.resolve import resolve
from helix_shared import edges
from helix_shared.broker import streams
from helix_shared.broker.worker import derive

SERVICE: Final = streams.KG
EDGE: Final = "links"
VERSION: Final = "1"
"""Raised when the rules change, so that a re-run is not taken for a repeat."""

_FIELDS: Final = tuple(field.name for field in fields(Link))


def link_rows(row: derive.Row) -> list[dict[str, Any]]:
    """Rows of the links edge for one memory."""
    memory_id = row["memory_id"]
    return [
        {"memory_id": memory_id, **{name: getattr(link, name) for name in _FIELDS}}
        for link in resolve(extract(row))
    ]


DERIVATION: Final = derive.Derivation(EDGE, VERSION, edges.links_schema(), COLUMNS, link_rows)
"""What `app` wires to the memories edge."""
