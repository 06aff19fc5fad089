"""A new statement beside an older one, each with the reading of its text: what most rules decide about."""

from __future__ import annotations

from typing import NamedTuple

from helix_consolidation.relations.statement import Statement
from helix_consolidation.relations.words.reading import Reading


class Pair(NamedTuple):
    """Two statements and their readings; `new` may replace `old`."""

    new: Statement
    new_reading: Reading
    old: Statement
    old_reading: Reading
