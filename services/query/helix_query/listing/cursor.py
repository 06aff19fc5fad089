"""The cursor at the end of a page, and its encoding as a page token.

A token carries a fingerprint of its request, so that it is refused with another scope, filter or order. It
grants nothing: every page is checked like the first.
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
_FORMAT: Final = struct.Struct(">B8sqq")
_VERSION: Final = 1
_PAGE_FIELDS: Final = (FIELD, "page_size", "min_seq")
"""Fields that may differ from page to page."""


class Cursor(NamedTuple):
    """The position of the last memory that was read."""

    key: int
    """Sort key of the list."""
    ordinal: int


def list_fingerprint(request: Any) -> bytes:
    """A hash, 8 bytes, of all that the pages of one list have in common."""
    same = type(request)()
    same.CopyFrom(request)
    for field in _PAGE_FIELDS:
        same.ClearField(field)
    body = same.DESCRIPTOR.full_name.encode() + same.SerializeToString(deterministic=True)
    return hashlib.blake2b(body, digest_size=8).digest()


def token_of(cursor: Cursor | None, fingerprint: bytes) -> str:
    """The token of the page of a list that ended at `cursor`; empty: there is no further page."""
    if cursor is None:
        return ""
    return base64.urlsafe_b64encode(_FORMAT.pack(_VERSION, fingerprint, *cursor)).decode().rstrip("=")


def cursor_of(token: str, fingerprint: bytes) -> Cursor | None:
    """The cursor of a token of the list with this fingerprint; None for the empty token.

    Raises:
        InvalidInputError: it is no token, or that of another list.
    """
    if not token:
        return None
    if len(token) > limits.PAGE_TOKEN_CHARACTERS:
        raise InvalidInputError(FIELD, f"must have at most {limits.PAGE_TOKEN_CHARACTERS} characters")
    try:
        packed = base64.b64decode(token + "=" * (-len(token) % 4), altchars=b"-_", validate=True)
        version, found_fingerprint, key, ordinal = _FORMAT.unpack(packed)
    except (binascii.Error, ValueError, struct.error) as error:
        raise InvalidInputError(FIELD, "is not a token of a page") from error
    if version != _VERSION or ordinal < 0:
        raise InvalidInputError(FIELD, "is not a token of a page")
    if found_fingerprint != fingerprint:
        raise InvalidInputError(FIELD, "belongs to a list with another scope, filter, order or time")
    return Cursor(key, ordinal)
