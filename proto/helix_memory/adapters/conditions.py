"""Conditions on the fields of an item, as LangGraph and LangChain write them: {"rating": {"$gte": 4}}."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from helix_memory.errors import InvalidInputError

_ORDERS: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
_OPERATORS: Final = ("$eq", "$ne", *_ORDERS)


def checked(conditions: object) -> Mapping[str, Any]:
    """The conditions; an empty mapping for None.

    Raises:
        InvalidInputError: they are no mapping of names, or an operator is unknown; names the field.
    """
    if conditions is None:
        return {}
    if not isinstance(conditions, Mapping):
        raise InvalidInputError("filter", f"must be a mapping, not {type(conditions).__name__}")
    for name, wanted in conditions.items():
        _check(f"filter.{name}", wanted)
    return conditions


def admits(conditions: Mapping[str, Any], fields: Mapping[str, Any]) -> bool:
    """Whether all conditions hold; a field that is absent is None, and no number is greater or less."""
    return all(_holds(fields.get(name), wanted) for name, wanted in conditions.items())


def _check(field: str, wanted: object) -> None:
    if not isinstance(wanted, Mapping):
        return
    is_operators = any(str(name).startswith("$") for name in wanted)
    for name, value in wanted.items():
        if is_operators and name not in _OPERATORS:
            raise InvalidInputError(field, f"{name!r} is unknown; known: {', '.join(_OPERATORS)}")
        _check(f"{field}.{name}", value)


def _holds(value: Any, wanted: Any) -> bool:
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, name, limit) for name, limit in wanted.items())
        return isinstance(value, Mapping) and admits(wanted, value)
    if isinstance(wanted, Sequence) and not isinstance(wanted, str):
        return (
            isinstance(value, Sequence)
            and not isinstance(value, str)
            and len(value) == len(wanted)
            and all(map(_holds, value, wanted))
        )
    return bool(value == wanted)


def _compares(value: Any, name: str, limit: Any) -> bool:
    if name == "$eq":
        return bool(value == limit)
    if name == "$ne":
        return bool(value != limit)
    try:
        return bool(_ORDERS[name](float(value), float(limit)))
    except (TypeError, ValueError, OverflowError):
        return False
