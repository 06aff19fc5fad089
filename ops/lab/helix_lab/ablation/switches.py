"""Every part of recall that can be switched off, and the constants that switch it off.

A part is a stage of recall, a channel or field that finds candidates, or a signal that orders them.
`ablate` asks every question once with and once without it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pydantic import BaseModel

from helix_memory.explanation import QUALITY
from helix_query.profile.overrides import with_constants
from helix_query.profile.profile import RankingProfile
from helix_query.profile.sections.fusion import Fuse
from helix_query.profile.sections.graph import Edge, Expand
from helix_query.profile.sections.ranking import Boosts
from helix_query.profile.sections.search import FieldWeights
from helix_query.profile.sections.section import Channel

Kind = Literal["stage", "channel", "signal"]

ADDITIVE: Final = "additive"
ORDER_OF_FUSION: Final[Mapping[str, Any]] = {
    "rank.method": "multiplicative",
    "rank.fused_share": 1.0,
    "rank.quality_weight": 0.0,
    "rank.graph_weight": 0.0,
    "rank.graph_weight_multi_hop": 0.0,
    "rank.boosts.*": 0.0,
    "rank.recipe": {},
    "rank.future_penalty": 1.0,
    "rank.acts": {},
    "rank.outdated": {},
    "rank.newer": {},
    "rank.persons": {},
    # the latest statement and phrase matches lead only where they were looked up
    "retrieve.term_coverage_limit": 0,
    "retrieve.phrase_match_limit": 0,
    "retrieve.definition_limit": 0,
}
"""Stage 6 as the identity: relevance is the fused score alone."""


@dataclass(frozen=True, slots=True)
class Switch:
    """One part of recall; `off` has the constants (dotted keys) that switch it off."""

    name: str
    kind: Kind
    off: Mapping[str, Any]

    def without(self, profile: RankingProfile) -> RankingProfile:
        """`profile` with this part off; equal to `profile` where it is already off."""
        return with_constants(profile, self.off)


def switches_of(profile: RankingProfile) -> tuple[Switch, ...]:
    """All switches, in the order of the stages; the only channel of a profile has none."""
    return (*_stages(profile), *_channels(profile), *_signals(profile))


def _stages(profile: RankingProfile) -> Iterator[Switch]:
    yield Switch("route", "stage", {"route.enabled": False})
    yield from _other_methods("fuse", Fuse, profile.fuse.method)
    yield Switch("fuse weights by intent", "stage", {"fuse.by_intent": {}})
    yield Switch("fuse weights by query", "stage", {"fuse.adaptive": None})
    yield Switch("route event lookup", "stage", {"route.event_lookup": False})
    yield Switch("fuse rank bonuses", "stage", {"fuse.rank_bonuses": ()})
    yield Switch("expand", "stage", {"expand.enabled": False})
    if profile.expand.enabled:
        yield from _other_methods("expand", Expand, profile.expand.method)
    yield Switch("rank", "stage", ORDER_OF_FUSION)
    yield Switch("rerank", "stage", {"rerank.candidates": 0})
    if profile.rerank.cross_encoder.model:
        yield Switch("cross-encoder", "stage", {"rerank.cross_encoder.model": ""})
    nothing_alike = {"diversify.near_duplicate": 1.01, "diversify.mmr_lambda": 1.0}
    yield Switch("diversify", "stage", {**nothing_alike, "diversify.session_floor": 1.01})


def _other_methods(stage: str, part: type[BaseModel], used: str) -> Iterator[Switch]:
    for method in get_args(part.model_fields["method"].annotation):
        if method != used:
            yield Switch(f"{stage} {used} (instead: {method})", "stage", {f"{stage}.method": method})


def _channels(profile: RankingProfile) -> Iterator[Switch]:
    channels = profile.retrieve.channels
    for channel in get_args(Channel):
        others = tuple(other for other in channels if other != channel)
        if others:
            yield Switch(channel, "channel", {"retrieve.channels": others})
    yield Switch("rephrase", "channel", {"retrieve.rephrase.intents": ()})
    for name in FieldWeights.model_fields:
        if name != "text":
            yield Switch(f"lexicon {name}", "channel", {f"retrieve.fields.{name}": 0.0})
    yield Switch("lexicon fields by intent", "channel", {"retrieve.fields_by_intent": {}})
    yield Switch("term coverage", "channel", {"retrieve.term_coverage_limit": 0})
    yield Switch("phrase match", "channel", {"retrieve.phrase_match_limit": 0})
    yield Switch("definition", "channel", {"retrieve.definition_limit": 0})
    yield Switch("graph second hop", "channel", {"expand.bridge_share": 0.0})
    yield Switch("answers of questions", "channel", {"rank.acts.answered_questions": 0})
    none_added = {"expand.graph_candidates": 0, "expand.graph_candidates_single_hop": 0}
    yield Switch("graph candidates", "channel", none_added)


def _signals(profile: RankingProfile) -> Iterator[Switch]:
    yield Switch("cosine", "signal", {"rank.fused_share": 1.0})
    if profile.rank.weights:
        for signal in QUALITY:
            yield Switch(signal, "signal", {f"rank.weights.*.{signal}": 0.0})
        yield Switch(" + ".join(QUALITY), "signal", {f"rank.weights.*.{signal}": 0.0 for signal in QUALITY})
    blended = {"rank.graph_weight": 0.0, "rank.graph_weight_multi_hop": 0.0}
    summed = {"rank.weights.*.graph": 0.0}
    yield Switch("graph mass", "signal", summed if profile.rank.method == ADDITIVE else blended)
    yield Switch("graph named entities", "signal", {"expand.entity_restart_share": 0.0})
    for edge in get_args(Edge):
        yield Switch(f"graph {edge}", "signal", {f"expand.edges.{edge}": 0.0})
    for boost in Boosts.model_fields:
        yield Switch(f"boost {boost}", "signal", {f"rank.boosts.{boost}": 0.0})
    yield Switch("statements first", "signal", {"rank.acts.statements_first": False})
    yield Switch("replacements", "signal", {"rank.outdated.enabled": False})
    yield Switch("newer first", "signal", {"rank.newer": {}})
    yield Switch("other person", "signal", {"rank.persons": {}})
    yield Switch("recipe factors", "signal", {"rank.recipe": {}})
