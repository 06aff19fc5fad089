"""The HTTP status and the JSON of every error: `{"error": {"type", "message", "field", "reason"}}`."""

from __future__ import annotations

import json
import math
from typing import Any, Final

from starlette.responses import Response

from helix_memory.transport.credentials import RefusedUserError, UnusableFileError
from helix_shared.errors import (
    DeniedError,
    HelixError,
    InvalidInputError,
    NotFoundError,
    OverdueError,
    OverloadedError,
    PermanentError,
    TemporaryError,
    UnauthenticatedError,
)
from helix_shared.telemetry.logs import logger

_log = logger(__name__)


class TooLargeError(InvalidInputError):
    """The body of a request is larger than a request may be."""


class ForeignError(DeniedError):
    """The request comes from, or is for, another place than this gateway."""


class MethodError(PermanentError):
    """There is such a path, but not for this method."""

    def __init__(self, message: str, *, allow: str = "") -> None:
        """`allow` are the methods that the path has, separated by commas."""
        super().__init__(message)
        self.allow = allow


KINDS: Final[tuple[tuple[type[HelixError], str, int, str], ...]] = (
    (TooLargeError, "too_large", 413, "the body is larger than a request may be"),
    (InvalidInputError, "invalid_input", 400, "a field breaks a limit; `field` names it, `reason` the limit"),
    (NotFoundError, "not_found", 404, "there is no such thing, or the caller may not see it"),
    (MethodError, "wrong_method", 405, "the path has other methods, which the header Allow names"),
    (UnauthenticatedError, "unauthenticated", 401, "the request has no valid credential"),
    (DeniedError, "denied", 403, "the credential, the Host or the Origin does not allow the request"),
    (OverloadedError, "overloaded", 429, "too much runs; try again after the seconds of Retry-After"),
    (OverdueError, "overdue", 504, "the deadline passed; a write may be stored: repeat it with its event_id"),
    (
        TemporaryError,
        "temporary",
        503,
        "a service does not answer; try again after the seconds of Retry-After",
    ),
    (HelixError, "failed", 500, "the request was refused for another reason"),
)
"""Error class, its name in JSON, its status, and what it means; the first that fits counts."""
INTERNAL: Final = ("internal", 500, "a fault of the gateway, which its log names")
"""Likewise of every other error."""


def as_told(error: BaseException) -> BaseException:
    """The error that callers are told of: with the gateway's own credentials it is not theirs to mend."""
    if not isinstance(error, UnusableFileError | RefusedUserError):
        return error
    _log.error("own_credentials_refused", reason=str(error))
    return TemporaryError("the gateway's own credentials are refused; its log says why")


def failure_of(error: BaseException) -> dict[str, Any]:
    """What a caller is told of an error, with its status; an error of an unknown class is told nothing of."""
    error = as_told(error)
    for kind, name, status, _ in KINDS:
        if isinstance(error, kind):
            told = {"type": name, "message": str(error), "status": status}
            if isinstance(error, InvalidInputError):
                told |= {"field": error.field, "reason": error.reason}
            return told
    _log.error("request_failed", error=type(error).__name__, exc_info=error)
    name, status, _ = INTERNAL
    return {"type": name, "message": "internal error", "status": status}


def response_of(error: BaseException) -> Response:
    """The response to a request that failed."""
    error = as_told(error)
    told = failure_of(error)
    status = told.pop("status")
    return Response(json.dumps({"error": told}), status, headers_of_failure(error), "application/json")


def headers_of_failure(error: BaseException) -> dict[str, str]:
    """The headers that the status of an error asks for."""
    if isinstance(error, TemporaryError):
        return {"Retry-After": str(max(1, math.ceil(error.delay_seconds)))}
    if isinstance(error, UnauthenticatedError):
        return {"WWW-Authenticate": "Bearer"}
    if isinstance(error, MethodError):
        return {"Allow": error.allow}
    return {}
