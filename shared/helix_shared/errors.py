"""The one error tree of Helix; a failure here is an instruction to whoever catches it.

    HelixError
    |- PermanentError            never try again: dead-letter it, or tell the caller what to change
    |  |- InvalidInputError      the caller's input breaks a limit; names the field and the limit
    |  |- NotFoundError          what was asked for does not exist (or is not visible to the caller)
    |  `- CorruptArtifactError   a file is not what its manifest says; never serve it
    `- TemporaryError            try again after `delay_seconds`
       |- OverloadedError        a bounded queue is full; the caller backs off
       |- IncompatibleError      this process and the message's worker differ in version or model
       |  `- OutdatedError       the worker was of an older release; one of today's can make it again
       |- OverdueError           work passed its deadline
       `- OtherInstanceError     another instance of Helix answers at the address; waiting does not help

Messages are lower case: what happened, the value, what to do. They never hold event bodies.
The mapping to a gRPC status stands in `helix_query.api.errors`, the mapping to ack, nak or
dead letter in `helix_shared.broker.settlement`.
"""

from __future__ import annotations


class HelixError(Exception):
    """Root of the tree; never raised itself."""


class PermanentError(HelixError):
    """The same input will fail again."""


class InvalidInputError(PermanentError):
    """Input breaks a documented limit.

    `field` is the dotted path of the offending field, `reason` the broken rule with its limit.
    """

    def __init__(self, field: str, reason: str) -> None:
        super().__init__(f"{field}: {reason}")
        self.field = field
        self.reason = reason


class NotFoundError(PermanentError):
    """What was asked for does not exist or is not visible to the caller."""


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
    """The message is sound, but not for this process: its worker has another release or another model.

    It is held, however long, until one of the two is changed; it is never a dead letter.
    """


class OutdatedError(IncompatibleError):
    """The message was made by a worker of an older release than this process."""


class OverdueError(TemporaryError):
    """Work did not end by its deadline."""


class OtherInstanceError(TemporaryError):
    """Another instance of Helix answers at an address that this home names; waiting does not help."""

    def __init__(self, who: str) -> None:
        super().__init__(f"{who} belongs to another instance of Helix than this home")
