"""The error tree of Helix; the class of an error tells its caller what to do.

    HelixError
    |- PermanentError            never try again: dead-letter it, or tell the caller what to change
    |  |- InvalidInputError      the caller's input breaks a limit; names the field and the limit
    |  |- NotFoundError          it does not exist, or is not visible to the caller
    |  `- CorruptArtifactError   a file differs from its manifest; never serve it
    `- TemporaryError            try again after `delay_seconds`
       |- OverloadedError        a bounded queue is full; the caller backs off
       |- IncompatibleError      this process and the maker of the message differ in release or model
       |  `- OutdatedError       an older release made the message; it can be derived again
       |- OverdueError           work passed its deadline
       `- OtherInstanceError     another instance of Helix answers at the address; waiting does not help

Messages are lower case: what happened, the value, what to do. They never hold event bodies.
`helix_shared.rpc.statuses` maps errors to a gRPC status, `helix_shared.broker.settlement` to ack, nak or dead
letter.
"""

from __future__ import annotations

from typing import Final


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


class CorruptArtifactError(PermanentError):
    """An artifact file is missing, truncated or does not match its checksum."""


class TemporaryError(HelixError):
    """The operation may succeed when repeated after `delay_seconds`."""

    def __init__(self, message: str, *, delay_seconds: float = 1.0) -> None:
        super().__init__(message)
        self.delay_seconds = delay_seconds


class OverloadedError(TemporaryError):
    """A bounded resource is full; back off."""


class IncompatibleError(TemporaryError):
    """The message is valid, but was made by another release or with another model than this process has.

    It is held without limit until one of the two changes; it never becomes a dead letter.
    """


class OutdatedError(IncompatibleError):
    """The message was made by an older release than this process."""


PASSED: Final = "deadline passed before the answer was ready"
"""Message of an `OverdueError`."""


class OverdueError(TemporaryError):
    """Work did not end by its deadline."""


class OtherInstanceError(TemporaryError):
    """Another instance of Helix answers at an address that this home uses; waiting does not help."""

    def __init__(self, who: str) -> None:
        super().__init__(f"{who} belongs to another instance of Helix than this home")
