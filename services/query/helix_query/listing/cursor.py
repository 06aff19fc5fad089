"""Where a page ended, and the token that carries it to the next one.

A token names the request by a hash, so that it is refused with another scope, filter or order. It grants
nothing: every page is checked like the first.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
from typing import Any, Final, NamedTuple

from helix_memory import limits
from helix_shared.errors import InvalidInputError

FIELD: Final = "page_token"
_FORM: Final = struct.Struct(">B8sqq")
_VERSION: Final = 1
_NOT_NAMED: Final = (FIELD, "page_size", "min_seq")
"""Fields that may differ from page to page."""


class Cursor(NamedTuple):
    """The last memory that was read."""

    key: int
    """What the list is ordered by."""
    ordinal: int


def name_of(request: Any) -> bytes:
    """A hash, 8 bytes, of what all pages of a list have in common."""
    same = type(request)()
    same.CopyFrom(request)
    for field in _NOT_NAMED:
        same.ClearField(field)
    body = same.DESCRIPTOR.full_name.encode() + same.SerializeToString(deterministic=True)
    return hashlib.blake2b(body, digest_size=8).digest()


def token_of(cursor: Cursor | None, name: bytes) -> str:
    """The token of a page of the list `name` that ended at `cursor`; empty: there is no further page."""
    if cursor is None:
        return ""
    return base64.urlsafe_b64encode(_FORM.pack(_VERSION, name, *cursor)).decode().rstrip("=")


def cursor_of(token: str, name: bytes) -> Cursor | None:
    """The cursor of a token of the list `name`; None for the empty token.

    Raises:
        InvalidInputError: it is no token, or that of another list.
    """
    if not token:
        return None
    if len(token) > limits.PAGE_TOKEN_CHARACTERS:
        raise InvalidInputError(FIELD, f"must have at most {limits.PAGE_TOKEN_CHARACTERS} characters")
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        version, named, key, ordinal = _FORM.unpack(packed)
    except (binascii.Error, ValueError, struct.error) as error:
        raise InvalidInputError(FIELD, "is not a token of a page") from error
    if version != _VERSION or ordinal < 0:
        raise InvalidInputError(FIELD, "is not a token of a page")
    if named != name:
        raise InvalidInputError(FIELD, "belongs to a list with another scope, filter, order or time")
    return Cursor(key, ordinal)
