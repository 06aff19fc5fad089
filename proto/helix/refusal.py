"""Which rule a value broke first, as pydantic tells it: the one place that reads its errors."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError


def first_broken(error: ValidationError) -> tuple[tuple[str, ...], str]:
    """Path and reason of the first broken rule, without the input; the path of the whole is empty."""
    first = error.errors(include_url=False, include_input=False)[0]
    return tuple(map(str, first["loc"])), first["msg"]
