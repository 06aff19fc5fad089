"""A selection as LanceDB SQL: the only place where a value becomes part of a filter text.

Columns are constants, values are literals with doubled quotes, the tenant stands last and
outermost. `lexicon_query` compiles the same selection for tantivy.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_shared.moments import microseconds

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from helix_shared.artifacts.filter.selection import Selection


def filter_sql(selection: Selection) -> str:
    """The filter of visible, selected, not hidden rows; of a past moment also rows hidden since."""
    clauses = [
        *_standing(selection.as_of),
        f"owner IN ({_literals(selection.owners)})",
        f"array_has_any(audience, [{_literals(selection.audiences)}])",
    ]
    for column, values in (
        ("type", selection.types),
        ("project_id", selection.project_ids),
        ("session_id", selection.session_ids),
    ):
        if values:
            clauses.append(f"{column} IN ({_literals(values)})")
    if selection.event_after is not None:
        clauses.append(f"event_at >= {_moment(selection.event_after)}")
    if selection.event_before is not None:
        clauses.append(f"event_at < {_moment(selection.event_before)}")
    return f"({' AND '.join(clauses)}) AND (tenant_id = {_literal(selection.tenant_id)})"


def _standing(as_of: datetime | None) -> Iterable[str]:
    if as_of is None:
        return ("hidden = false",)
    # What was forgotten stays forgotten; what was superseded or expired since is judged by `Versions`.
    return (f"created_at <= {_moment(as_of)}", "(hidden = false OR deleted_at IS NULL)")


def ordinals_sql(ordinals: Iterable[int]) -> str:
    """The filter of the rows with these ordinals."""
    return f"ordinal IN ({','.join(str(int(ordinal)) for ordinal in ordinals)})"


def ids_sql(memory_ids: Iterable[str]) -> str:
    """The filter of the rows with these memory ids."""
    return f"memory_id IN ({_literals(memory_ids)})"


def _literal(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _literals(values: Iterable[str]) -> str:
    return ", ".join(_literal(value) for value in values)


def _moment(moment: datetime) -> str:
    return f"to_timestamp_micros({microseconds(moment)})"
