"""The error tree of Helix as a program sees it; the class of an error tells its caller what to do.

    HelixError
    |- PermanentError            never try again: tell the user what to change
    |  |- InvalidInputError      the input breaks a limit; names the field and the limit
    |  |- NotFoundError          it does not exist, or is not visible to the caller
    |  |- UnauthenticatedError   the call has no valid credential
    |  |- DeniedError            the credential does not allow the call
    |  `- OtherShardError        the tenant lies in another shard than the service that was called
    `- TemporaryError            try again after `delay_seconds`
       |- OverloadedError        a bounded queue is full; the caller backs off
       |- OverdueError           work passed its deadline
       `- OtherInstanceError     another instance of Helix answers at the address; waiting does not help

`helix_shared.errors` adds what services raise among themselves. Messages are lower case: what happened, the
value, what to do. They never hold event bodies.
"""

from __future__ import annotations

from typing import Final

CLOSED: Final = "the client is closed; make a new one"
"""Message of a PermanentError: a call on a closed client, or one that was under way when it was closed."""


class HelixError(Exception):
    """Root of the tree; never raised."""


class PermanentError(HelixError):
    """The same input will fail again."""


class InvalidInputError(PermanentError):
    """Input breaks a documented limit.

    `field` is the dotted path of the field, `reason` the broken rule with its limit.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class NotFoundError(PermanentError):
    """It does not exist or is not visible to the caller."""


class UnauthenticatedError(PermanentError):
    """The call has no valid credential. The message is the same for every reason."""


class DeniedError(PermanentError):
    """The credential does not allow this call, or this scope."""


class OtherShardError(PermanentError):
    """The tenant lies in the shard `shard`, which another service serves."""

    def __init__(self, tenant_id: str, shard: int) -> None:
        super().__init__(
            f"tenant {tenant_id} lies in shard {shard}, which another service serves; name the addresses of "
            "the services of all shards, in order, with commas"
        )
        self.shard = shard


class TemporaryError(HelixError):
    """The operation may succeed when repeated after `delay_seconds`."""

    def __init__(self, message: str, *, delay_seconds: float = 1.0) -> None:
        super().__init__(message)
        self.delay_seconds = delay_seconds


class OverloadedError(TemporaryError):
    """A bounded resource is full; back off."""


class OverdueError(TemporaryError):
    """Work did not end by its deadline."""


class OtherInstanceError(TemporaryError):
    """Another instance of Helix answers at an address that this home uses; waiting does not help."""

    def __init__(self, who: str) -> None:
        super().__init__(f"{who} belongs to another instance of Helix than this home")
