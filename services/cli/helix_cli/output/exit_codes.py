"""Exit codes of the command line, and the one of each error.

| code | meaning |
|---|---|
| 0 | done |
| 1 | something was refused or failed |
| 2 | usage, or input that breaks a limit |
| 3 | NATS or the query service does not answer |
| 4 | of a command that changes memories: one of them stays as it was |
| 78 | bad configuration |
"""

from __future__ import annotations

from typing import Final

from helix_shared.errors import HelixError, InvalidInputError, OverloadedError, TemporaryError

FAILED_EXIT: Final = 1
USAGE_EXIT: Final = 2
UNREACHABLE_EXIT: Final = 3
UNCHANGED_EXIT: Final = 4

EXIT_CODES: Final = (
    "Exit codes: 0 done, 1 refused or failed, 2 usage or invalid input,\n"
    "3 not reachable, 4 a memory stays as it was, 78 configuration."
)


def exit_code(error: HelixError) -> int:
    """The exit code of an error."""
    if isinstance(error, InvalidInputError):
        return USAGE_EXIT
    if isinstance(error, TemporaryError) and not isinstance(error, OverloadedError):
        return UNREACHABLE_EXIT
    return FAILED_EXIT
