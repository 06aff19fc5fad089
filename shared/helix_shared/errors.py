"""The error tree of Helix; the class of an error tells its caller what to do.

    HelixError
    |- PermanentError            never try again: dead-letter it, or tell the caller what to change
    |  |- InvalidInputError      the caller's input breaks a limit; names the field and the limit
    |  |- NotFoundError          it does not exist, or is not visible to the caller
    |  |- UnauthenticatedError   the call has no valid credential
    |  |- DeniedError            the credential does not allow the call
    |  |- OtherShardError        the tenant lies in another shard than the service that was called
    |  `- CorruptArtifactError   a file differs from its manifest; never serve it
    `- TemporaryError            try again after `delay_seconds`
       |- OverloadedError        a bounded queue is full; the caller backs off
       |- IncompatibleError      this process and the maker of the message differ in release or model
       |  `- OutdatedError       an older release made the message; it can be derived again
       |- LoadingError           the shard of the tenant is being loaded
       |- OverdueError           work passed its deadline
       `- OtherInstanceError     another instance of Helix answers at the address; waiting does not help

Messages are lower case: what happened, the value, what to do. They never hold event bodies. What a program
of a user can meet is in `helix_memory.errors`; this module adds what only services raise.
`helix_shared.rpc.statuses` maps errors to a gRPC status, `helix_shared.broker.settlement` to ack, nak or dead
letter.
"""

from __future__ import annotations

from typing import Final

from helix_memory.errors import (
    DeniedError,
    HelixError,
    InvalidInputError,
    NotFoundError,
    OtherInstanceError,
    OtherShardError,
    OverdueError,
    OverloadedError,
    PermanentError,
    TemporaryError,
    UnauthenticatedError,
)

__all__ = [
    "CONFIG_ERROR_EXIT",
    "PASSED",
    "REBUILD",
    "RESTORE_LOG",
    "CorruptArtifactError",
    "DeniedError",
    "HelixError",
    "IncompatibleError",
    "InvalidInputError",
    "LoadingError",
    "NotFoundError",
    "OtherInstanceError",
    "OtherShardError",
    "OutdatedError",
    "OverdueError",
    "OverloadedError",
    "PermanentError",
    "TemporaryError",
    "UnauthenticatedError",
    "naming_rebuild",
]

CONFIG_ERROR_EXIT: Final = 78
"""Exit code of a service that does not start for its settings: EX_CONFIG of sysexits.h."""
REBUILD: Final = "`helix rebuild` makes the data folder again from the log"
"""What helps where a data folder cannot be read."""
RESTORE_LOG: Final = "`helix archive restore` puts the events of the archive back into the log"
"""What helps where the log lost events that it had."""
PASSED: Final = "deadline passed before the answer was ready"
"""Message of an `OverdueError`."""


class CorruptArtifactError(PermanentError):
    """An artifact file is missing, truncated or does not match its checksum."""


def naming_rebuild(error: BaseException) -> str:
    """The message of an error about a data folder, with `REBUILD` unless it says so already."""
    return str(error) if REBUILD in str(error) else f"{error}; {REBUILD}"


class LoadingError(TemporaryError):
    """The shard `shard` is being loaded; a client asks again while it has time."""

    def __init__(self, shard: int) -> None:
        super().__init__(f"shard {shard} is being loaded; ask again")
        self.shard = shard


class IncompatibleError(TemporaryError):
    """The message is valid, but was made by another release or with another model than this process has.

    It is held without limit until one of the two changes; it never becomes a dead letter.
    """


class OutdatedError(IncompatibleError):
    """The message was made by an older release than this process."""
