"""Parts of a ranking profile that were fitted to the cosines of one encoder, and do not apply to others.

Each part names its encoder by `ModelCard.encoder_checksum`. Another encoder has other cosines: a share of the
channels or a probability that was fitted to those of MiniLM says nothing there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_query.profile.adapter import is_adapter_for

if TYPE_CHECKING:
    from helix_query.profile.profile import RankingProfile
    from helix_shared.encoders.model import ModelCard


def serves(encoder: str, card: ModelCard) -> bool:
    """Whether constants that name `encoder` may be used with the encoder of `card`."""
    return encoder in ("", card.encoder_checksum)


def left_out(profile: RankingProfile, card: ModelCard) -> dict[str, str]:
    """The parts of a profile that are left out with the encoder of `card`, and what fits new ones."""
    found = {}
    if profile.embed.adapted and not is_adapter_for(card):
        found["query adapter"] = "helix-lab adapter"
    if profile.fuse.adaptive is not None and not serves(profile.fuse.adaptive.encoder, card):
        found["share of the channels by query"] = "helix-lab share"
    if not serves(profile.abstain.encoder, card):
        found["relevance and abstention"] = "helix-lab calibrate"
    return found
