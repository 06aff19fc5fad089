"""Ranking profiles: every constant of the eight stages, named, with its unit and bounds.

The constants stand in `parts`, a file for each group of stages, which take them as keyword arguments; none
sees more of a profile than its own part. `profile_files` reads profiles, `constants` changes single values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field, ValidationError

from helix_memory.refusal import first_broken
from helix_query.profile.sections.abstention import Abstain
from helix_query.profile.sections.answer import Diversify, Pack
from helix_query.profile.sections.fusion import Fuse
from helix_query.profile.sections.graph import Expand
from helix_query.profile.sections.ranking import Rank
from helix_query.profile.sections.recipe import Rerank
from helix_query.profile.sections.search import Retrieve, Routing
from helix_query.profile.sections.section import Part
from helix_shared.errors import InvalidInputError

DEFAULT_PROFILE: Final = "helix"


class RankingProfile(Part):
    """One named set of constants for the eight stages."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    description: str
    top_k: int = Field(
        default=10, ge=1, le=200, description="memories returned when the caller names no number"
    )
    token_budget: int = Field(
        default=2000, ge=1, le=100_000, description="tokens packed when the caller names none"
    )
    route: Routing = Routing()
    retrieve: Retrieve = Retrieve()
    fuse: Fuse = Fuse()
    expand: Expand = Expand()
    rank: Rank
    rerank: Rerank = Rerank()
    diversify: Diversify = Diversify()
    abstain: Abstain = Abstain()
    pack: Pack = Pack()


def validated(values: Mapping[str, Any]) -> RankingProfile:
    """The ranking profile of these values.

    Raises:
        InvalidInputError: a key is no constant of a ranking profile, or a value is out of its bounds.
    """
    try:
        return RankingProfile.model_validate(values)
    except ValidationError as error:
        key, reason = first_broken(error)
        raise InvalidInputError(".".join(key) or "profile", reason) from error
