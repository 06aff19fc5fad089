"""The speech acts: what the author of a text does with it.

Ingest tells the act of every memory; recall never puts an open question above a statement.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

SpeechAct = Literal[
    "statement",
    "question",
    "request",
    "acknowledgement",
    "plan",
    "correction",
    "decision",
    "quotation",
    "hypothetical",
]

SPEECH_ACTS: Final[tuple[SpeechAct, ...]] = get_args(SpeechAct)
"""All speech acts. A generation stores the index of an act in this tuple, so add at the end only."""

Flag = Literal["instruction", "secret", "invisible"]
"""What ingest found suspicious: an instruction to the reader, a credential, invisible characters."""
FLAGS: Final[tuple[Flag, ...]] = get_args(Flag)
"""All flags. A generation stores them as bits, the first as bit 0, so add at the end only."""
