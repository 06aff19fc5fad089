"""What a page is asked: its caller, and the parameters of its address."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from helix_memory import limits
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from zoneinfo import ZoneInfo

    from starlette.requests import Request

    from helix_gateway.callers import Caller
    from helix_memory.client import AsyncHelix

_ID: Final = re.compile(limits.MEMORY_ID_PATTERN)
_DAY: Final = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """One request of a page."""

    request: Request
    caller: Caller
    zone: ZoneInfo
    """Of the viewer: a date in a field begins at midnight there."""

    @property
    def helix(self) -> AsyncHelix:
        """The client that acts for the caller."""
        return self.caller.helix

    def text(self, name: str, default: str = "") -> str:
        """A parameter, without white space around it."""
        return self.request.query_params.get(name, default).strip()

    def texts(self, name: str) -> list[str]:
        """Every value of a repeated parameter that is not empty."""
        return [one for one in self.request.query_params.getlist(name) if one]

    def number(self, name: str, default: int, bounds: tuple[int, int]) -> int:
        """A whole number.

        Raises:
            InvalidInputError: it is none, or out of bounds.
        """
        text = self.text(name)
        if not text:
            return default
        least, most = bounds
        if not (text.isascii() and text.isdigit() and len(text) < 7 and least <= int(text) <= most):  # noqa: PLR2004
            raise InvalidInputError(name, f"must be a whole number from {least} to {most}")
        return int(text)

    @property
    def page(self) -> dict[str, Any]:
        """The option of the client that names a page after the first."""
        token = self.text("page")
        return {"page_token": token} if token else {}

    def moment(self, name: str) -> datetime | None:
        """A date or time of the viewer's zone; None where there is none.

        Raises:
            InvalidInputError: it is neither.
        """
        text = self.text(name)
        if not text:
            return None
        try:
            found = datetime.fromisoformat(text)
            return (found if found.tzinfo else found.replace(tzinfo=self.zone)).astimezone(UTC)
        except (ValueError, OverflowError) as error:
            raise InvalidInputError(name, "must be a date like 2026-01-31 or a time") from error

    def end(self, name: str) -> datetime | None:
        """As `moment`, of where a span of time ends: a date is the last day of it.

        Raises:
            InvalidInputError: it is neither.
        """
        found, text = self.moment(name), self.text(name)
        if found is None or not _DAY.fullmatch(text):
            return found
        try:
            return (
                (datetime.fromisoformat(text) + timedelta(days=1)).replace(tzinfo=self.zone).astimezone(UTC)
            )
        except OverflowError:
            return found

    @property
    def memory_id(self) -> str:
        """That in the path.

        Raises:
            InvalidInputError: it is none.
        """
        return memory_id("id", self.request.path_params["id"])


def memory_id(field: str, value: str) -> str:
    """A value that must be the id of a memory.

    Raises:
        InvalidInputError: it is none.
    """
    if not _ID.fullmatch(value):
        raise InvalidInputError(field, "must be an id of 32 hexadecimal digits")
    return value
