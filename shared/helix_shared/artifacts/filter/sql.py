"""SQL for LanceDB: the only place where a value becomes part of a query text.

Columns are constants, strings are literals with doubled quotes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_shared.identity import content_hash
from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime


def literal(value: str) -> str:
    """A string literal."""
    return "'" + value.replace("'", "''") + "'"


def literals(values: Iterable[str]) -> str:
    """A list of string literals."""
    return ", ".join(literal(value) for value in values)


def timestamp(moment: datetime) -> str:
    """A timestamp literal with microseconds."""
    return f"to_timestamp_micros({microseconds(moment)})"


def ordinals_sql(ordinals: Iterable[int]) -> str:
    """The rows with these ordinals."""
    return f"ordinal IN ({','.join(str(int(ordinal)) for ordinal in ordinals)})"


def ids_sql(memory_ids: Iterable[str]) -> str:
    """The rows with these memory ids."""
    return f"memory_id IN ({literals(memory_ids)})"


def id_prefixes_sql(prefixes: Iterable[str], tenant_id: str) -> str:
    """The rows of a tenant whose memory id begins with one of these digits: ranges, for an index."""
    ranges = (
        f"(memory_id >= {literal(one)} AND memory_id < {literal(one + 'g')})"
        for one in dict.fromkeys(prefixes)
    )
    return f"({' OR '.join(ranges)}) AND tenant_id = {literal(tenant_id)}"


def texts_sql(texts: Iterable[str], tenant_id: str) -> str:
    """The rows of a tenant whose text is one of these, whatever the case of letters and the white space."""
    hashes = dict.fromkeys(map(content_hash, texts))
    return f"content_hash IN ({literals(hashes)}) AND tenant_id = {literal(tenant_id)}"
