"""One message of a stream with its position, as an export and the archive keep it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from helix_shared.moments import microseconds, moment_of

SERVER_HEADER: Final = "Nats-"
"""Headers that begin so are instructions to the server, except the message id."""

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
"""A token of RFC 7230, as the client of NATS checks it; the server and other clients take more."""
_LINE_BREAK: Final = re.compile(r"[\r\n]")


@dataclass(frozen=True, slots=True)
class EventRecord:
    """A stored message; the body is kept byte for byte."""

    sequence: int
    subject: str
    stored_at: datetime
    body: bytes
    message_id: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Without those of the server (`kept_headers`)."""

    @property
    def fields(self) -> dict[str, Any]:
        """The record as fields of JSON; a body that is not UTF-8 comes as `body_base64`."""
        fields: dict[str, Any] = {
            "seq": self.sequence,
            "subject": self.subject,
            "stored_at": self.stored_at.isoformat(timespec="microseconds"),
            "id": self.message_id,
        }
        if self.headers:
            fields["headers"] = dict(self.headers)
        try:
            fields["body"] = self.body.decode("utf-8")
        except UnicodeDecodeError:
            fields["body_base64"] = base64.b64encode(self.body).decode("ascii")
        return fields

    @classmethod
    def of_fields(cls, fields: Mapping[str, Any]) -> EventRecord:
        """The inverse of `fields`.

        Raises:
            ValueError: a field is missing or of another type.
        """
        try:
            if "body_base64" in fields:
                body = base64.b64decode(fields["body_base64"], validate=True)
            else:
                body = fields["body"].encode("utf-8")
            moment = datetime.fromisoformat(fields["stored_at"])
            return cls(
                sequence=_number(fields["seq"]),
                subject=str(fields["subject"]),
                # an exact time with the zone of all others
                stored_at=moment_of(microseconds(moment)),
                body=body,
                message_id=str(fields["id"]),
                # a file may have been written by anybody
                headers=kept_headers(
                    {str(name): str(value) for name, value in fields.get("headers", {}).items()}
                ),
            )
        except (KeyError, TypeError, AttributeError, OverflowError, binascii.Error) as error:
            raise ValueError(f"no record of an event: {error}") from error


def kept_headers(headers: Mapping[str, str], *, without: frozenset[str] = frozenset()) -> dict[str, str]:
    """The headers that belong to a message and not to its delivery or storage.

    Without those that nobody could publish again: a client may have sent bytes that are no name.
    """
    return {
        name: value
        for name, value in headers.items()
        if not name.startswith(SERVER_HEADER)
        and name not in without
        and _HEADER_NAME.fullmatch(name)
        and not _LINE_BREAK.search(value)
    }


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise TypeError(f"seq is {value!r}")
    return value
