"""Why the writer has to publish: the reasons since the last generation, as they are logged."""

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
        """Record a reason; a repeated one changes nothing."""
        self._reasons[reason] = None

    def published(self) -> list[str]:
        """Forget the reasons, which a generation now covers; returns them in the order they were noted."""
        reasons, self._reasons, self.is_urgent = list(self._reasons), {}, False
        return reasons
