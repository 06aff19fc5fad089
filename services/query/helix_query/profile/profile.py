"""A ranking profile: one named set of constants for the eight stages.

`sections` has the constants with their bounds and descriptions, a class for each stage.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import Field, ValidationError

from helix_memory.refusal import first_broken
from helix_query.profile.sections.abstention import Abstain
from helix_query.profile.sections.fusion import Fuse
from helix_query.profile.sections.graph import Expand
from helix_query.profile.sections.packing import Diversify, Pack
from helix_query.profile.sections.ranking import Rank
from helix_query.profile.sections.reranking import Rerank
from helix_query.profile.sections.search import Embed, Retrieve, Routing
from helix_query.profile.sections.section import Section
from helix_shared.errors import InvalidInputError

DEFAULT_PROFILE: Final = "helix"


class RankingProfile(Section):
    """The constants of one profile, a section for each stage."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$")
    description: str
    top_k: int = Field(default=10, ge=1, le=200, description="memories returned unless the request says")
    token_budget: int = Field(
        default=2000, ge=1, le=100_000, description="tokens packed unless the request says"
    )
    embed: Embed = Embed()
    route: Routing = Routing()
    retrieve: Retrieve = Retrieve()
    fuse: Fuse = Fuse()
    expand: Expand = Expand()
    rank: Rank = Rank()
    rerank: Rerank = Rerank()
    diversify: Diversify = Diversify()
    abstain: Abstain = Abstain()
    pack: Pack = Pack()


def validated(values: Mapping[str, Any]) -> RankingProfile:
    """The ranking profile of these values.

    Raises:
        InvalidInputError: a key is unknown or a value is out of bounds; names the key.
    """
    try:
        return RankingProfile.model_validate(values)
    except ValidationError as error:
        key, reason = first_broken(error)
        raise InvalidInputError(".".join(key) or "profile", reason) from error
