"""The edge `verdicts`: what a language model says of the unsure pairs of one event.

| verdict | the newer text |
|---|---|
| replaces | says another value of the same thing; the older one no longer holds |
| adds | says more about the same thing; both hold |
| same | says the same again |
| contradicts | cannot be true beside the older one, and it is open which holds |
| unrelated | is about something else, or changes nothing |
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa

EDGE: Final = "verdicts"
VERDICTS: Final = ("replaces", "adds", "same", "contradicts", "unrelated")
NO_VERDICT: Final = ""
"""Nothing usable was answered: the rules stand alone."""

SCHEMA: Final = pa.schema(
    [
        pa.field("newer", pa.string(), nullable=False),
        pa.field("newer_sequence", pa.uint64(), nullable=False),
        pa.field("older", pa.string(), nullable=False),
        pa.field("older_sequence", pa.uint64(), nullable=False),
        # one of VERDICTS, or NO_VERDICT
        pa.field("verdict", pa.string(), nullable=False),
    ]
)
"""One row for each pair that was asked: ids of both memories, and the stream sequences of their events."""
