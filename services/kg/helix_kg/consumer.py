"""The consumer of kg: for each memories message one links message.

`extract` and `resolve` make the links; `helix_shared.broker.worker` does delivery and dead letters.
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
VERSION: Final = "11"
"""Part of the message id: raise it with the rules, so that new results are not dropped as repetitions."""

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
