"""Why the writer has to publish: the changes since the last generation, each with a word for the log."""

from __future__ import annotations


class PublicationNeed:
    """The reasons for the next generation; false while there are none."""

    def __init__(self) -> None:
        self._reasons: dict[str, None] = {}
        self.is_urgent = False
        """Whether lifecycle events came since the last generation: the next one waits for no backlog.

        They may all be postponed, so this alone is no reason for a generation.
        """

    def __bool__(self) -> bool:
        return bool(self._reasons)

    def note(self, reason: str) -> None:
        """Something changed that the next generation holds; a repeat changes nothing."""
        self._reasons[reason] = None

    def published(self) -> list[str]:
        """A generation holds all of it; returns what the reasons were, in the order they were noted."""
        reasons, self._reasons, self.is_urgent = list(self._reasons), {}, False
        return reasons
