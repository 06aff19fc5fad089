"""What was fitted for another model than the one in use, for `helix models list` and `helix status`.

Imports ranking profiles, so it is imported only when it is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from helix_consolidation.relations.model import shipped_model
from helix_query.profile.files import load_profiles
from helix_query.profile.fitted import left_out
from helix_query.profile.profile import DEFAULT_PROFILE
from helix_query.settings import QuerySettings

if TYPE_CHECKING:
    from helix_shared.encoders.model import ModelCard

RELATIONS: Final = "relations between statements"
RELATIONS_COMMAND: Final = "helix-lab relations"


@dataclass(frozen=True, slots=True)
class FittedElsewhere:
    """Parts that were fitted for another encoder, each with the command that fits it anew."""

    left_out: dict[str, str]
    """Recalls do without them, in the default ranking profile."""
    used: dict[str, str]
    """Used all the same."""

    def lines(self, name: str) -> list[str]:
        """For people; empty where everything was fitted for the model `name`."""
        found = []
        if self.left_out:
            found.append(f"{name}: fitted for another model, so left out: {_listed(self.left_out)}")
        if self.used:
            found.append(f"{name}: fitted for another model, but used: {_listed(self.used)}")
        return found


def fitted_elsewhere(card: ModelCard) -> FittedElsewhere:
    """What of the default ranking profile and of the relations was fitted for another encoder than `card`'s.

    Raises:
        InvalidInputError: a profile, or a setting of the query service in this environment, is wrong.
    """
    profile = load_profiles(QuerySettings.load().profiles_dir)[DEFAULT_PROFILE]
    is_own = shipped_model().encoder == card.encoder_checksum
    return FittedElsewhere(left_out(profile, card), {} if is_own else {RELATIONS: RELATIONS_COMMAND})


def _listed(parts: dict[str, str]) -> str:
    return ", ".join(f"{part} (`{command}`)" for part, command in parts.items())
