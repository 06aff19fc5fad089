"""Every score can be recomputed from its explanation, exactly."""

from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from helix_memory.explanation import contribution, fused, recompute, relevance, signals
from helix_memory.recall.v1 import recall_pb2
from helix_memory.vocabulary.speech_acts import SPEECH_ACTS
from helix_query.api.responses.explanation import CandidateMessages, explanation_message
from helix_query.diagnostics.explain import order_of
from helix_query.diagnostics.explanation import Duplicate, Explanation, Loss
from helix_query.diagnostics.nearest_words import nearest_words
from helix_query.profile.files import load_profiles
from helix_query.profile.intent import Intent
from helix_query.profile.overrides import constant
from helix_query.profile.profile import RankingProfile
from helix_query.recall.candidate_signals import CandidateSignals
from helix_query.recall.candidates import (
    GRAPH,
    Candidates,
    CrossEncoding,
    LateInteraction,
    Ranking,
    RelatedPairs,
    Retrieved,
    Route,
    Window,
    bit_of,
)
from helix_query.recall.result import Trace
from helix_query.recall.stages.fuse import fuse_rankings
from helix_query.recall.stages.rank import best_first, score_candidates
from helix_query.scheduling.lazy import Lazy
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import NO_TIME, code
from tests.examples import examples

NOW = datetime(2026, 3, 1, tzinfo=UTC)
NOW_US = int(NOW.timestamp() * 1e6)
PROFILES = load_profiles()
OWN, OTHER = code("own"), code("other")


def hits_of(random: np.random.Generator, count: int, scores: float) -> Hits:
    """Random hits among 40 memories, some with equal scores."""
    ordinals = random.permutation(40)[:count].astype(np.int64)
    return Hits.ranked(ordinals, np.round(random.random(count) * scores, 2).astype(np.float32), limit=count)


def retrieved_of(random: np.random.Generator) -> Retrieved:
    """Lists of all channels, extra searches and evidence; some are empty or missing."""
    rankings = [
        Ranking(channel, hits_of(random, int(random.integers(0, 25)), scores))
        for channel, scores in (("dense", 1.0), ("lexical", 30.0), ("entity", 1.0), ("associative", 1.0))
        if random.random() < 0.8
    ]
    rankings += [Ranking("lexical", hits_of(random, 9, 30.0), "other words")] * (random.random() < 0.3)
    return Retrieved(
        tuple(rankings) or (Ranking("dense", hits_of(random, 3, 1.0)),),
        phrase_match=hits_of(random, 5, 30.0) if random.random() < 0.3 else None,
        definition=hits_of(random, 4, 1.0) if random.random() < 0.3 else None,
        term_coverage=hits_of(random, 12, 1.0) if random.random() < 0.3 else None,
    )


def with_graph_candidates(candidates: Candidates, random: np.random.Generator) -> Candidates:
    """Candidates after stage 5: graph mass for some, and some that only the graph found."""
    count = int(random.integers(0, 4))
    least = float(candidates.fused.min()) if len(candidates) else 0.0
    total = len(candidates) + count
    return Candidates(
        np.concatenate([candidates.ordinals, 100 + np.arange(count)]),
        np.concatenate([candidates.fused, np.full(count, least)]),
        np.concatenate([candidates.cosine, random.random(count)]),
        random.random(total) * (random.random(total) < 0.5),
        np.concatenate([candidates.found_by, np.full(count, bit_of(GRAPH))]),
        None if candidates.coverage is None else np.append(candidates.coverage, np.zeros(count)),
        None
        if candidates.phrase_match is None
        else np.append(candidates.phrase_match, np.zeros(count, bool)),
        None if candidates.definition is None else np.append(candidates.definition, np.zeros(count, bool)),
        related=related_of(random, total) if total else None,
        late_interaction=late_of(random, total) if total and random.random() < 0.6 else None,
        cross_encoding=cross_of(random, total) if total and random.random() < 0.6 else None,
    )


def late_of(random: np.random.Generator, count: int) -> LateInteraction:
    """Random similarities of some words and some of the candidates; sometimes all are equal."""
    words = int(random.integers(1, 5))
    positions = np.flatnonzero(random.random(count) < 0.7)
    positions = positions if len(positions) else np.zeros(1, np.int64)
    similarity = random.uniform(-0.5, 1.0, (words, len(positions)))
    return LateInteraction(
        positions,
        tuple(f"word{number}" for number in range(words)),
        random.uniform(0.1, 9.0, words),
        np.full_like(similarity, 0.5) if random.random() < 0.1 else similarity,
        float(random.uniform(0.0, 3.0)),
        np.zeros((words, 128), np.float32),
        np.arange(words),
    )


def cross_of(random: np.random.Generator, count: int) -> CrossEncoding:
    """Random logits of some of the candidates; sometimes all are equal."""
    positions = np.flatnonzero(random.random(count) < 0.7)
    positions = positions if len(positions) else np.zeros(1, np.int64)
    logits = random.normal(0.0, 5.0, len(positions)).astype(np.float32).astype(np.float64)
    if random.random() < 0.1:
        logits[:] = 0.5
    return CrossEncoding("model", positions, logits, float(random.uniform(0.0, 10.0)))


def related_of(random: np.random.Generator, count: int) -> RelatedPairs:
    """Random pairs of answers and replacements."""
    positions = [random.integers(0, count, 2) for _ in range(4)]
    return RelatedPairs(*positions, random.random(2))


def raw_signals_of(random: np.random.Generator, count: int) -> CandidateSignals:
    """Memories of random type, age, project and quality."""

    def times(most_days: int) -> Any:
        return NOW_US - random.integers(-2 * 86_400_000_000, most_days * 86_400_000_000, count)

    return CandidateSignals(
        type_code=random.integers(0, 5, count).astype(np.uint8),
        touched_at=times(400),
        occurred_at=times(40),
        event_start=np.where(random.random(count) < 0.5, NO_TIME, times(40)),
        event_end=np.full(count, NO_TIME),
        salience=random.random(count),
        confidence=random.random(count),
        priority=random.uniform(1, 2, count),
        pinned=random.random(count) < 0.2,
        project_code=random.choice([0, OWN, OTHER], count),
        session_code=np.zeros(count, np.int64),
        access_count=random.integers(0, 30, count),
        token_count=random.integers(1, 60, count),
        about_code=random.integers(0, 4, count).astype(np.int64),
        speech_act=random.integers(0, len(SPEECH_ACTS), count).astype(np.uint8),
        source_code=random.integers(1, 1 + count, count),
        is_derived=random.random(count) < 0.3,
        replaced_at=np.where(random.random(count) < 0.3, 0, NO_TIME),
        sequence=random.integers(1, 9, count),
    )


def profile_of(random: np.random.Generator) -> RankingProfile:
    """A random profile with random changes of its constants."""
    values = PROFILES[random.choice(sorted(PROFILES))].model_dump()
    if random.random() < 0.6:
        values["rank"] |= {
            "method": str(random.choice(["additive", "multiplicative", "blend"])),
            "fused_share": random.random(),
            "graph_weight_multi_hop": random.random(),
            "quality_weight": random.random(),
            "weights": constant(PROFILES["helix-reference"], "rank.weights"),
            "future_penalty": random.random(),
        }
        values["rank"]["boosts"] = {
            name: random.random() for name in ("window", "pinned", "priority", "project")
        }
        values["rank"]["recipe"] |= {"noise": bool(random.random() < 0.5), "access_gain": random.random()}
        values["fuse"] |= {"method": str(random.choice(["rrf", "minmax"])), "rank_bonuses": (0.05, 0.02)}
    return RankingProfile.model_validate(values)


def explained(random: np.random.Generator) -> Explanation:
    """The explanation of random candidates under a random profile."""
    profile, retrieved = profile_of(random), retrieved_of(random)
    cosines = random.uniform(-0.2, 1.0, 200).astype(np.float32)
    fusion = profile.fuse
    first = fuse_rankings(
        retrieved,
        cosines=lambda ordinals: cosines[ordinals],
        method=fusion.method,
        weights=fusion.weights,
        k=fusion.k,
        rank_bonuses=fusion.rank_bonuses,
        lexical_limit=int(random.integers(1, 40)),
        rephrased_weight=fusion.rephrased_weight,
    )
    candidates = with_graph_candidates(first, random)
    intents = tuple(intent for intent in (Intent.MULTI_HOP, Intent.CURRENT_VALUE) if random.random() < 0.5)
    window = Window(NOW - timedelta(days=9), NOW) if random.random() < 0.5 else None
    route = Route(intents=intents, window=window)
    scored = score_candidates(
        candidates,
        raw_signals_of(random, len(candidates)),
        route,
        now=NOW,
        constants=profile.rank,
        project_code=OWN if random.random() < 0.5 else None,
        seed=int(random.integers(0, 2**62)),
    )
    ranked = best_first(candidates, scored)
    places = np.zeros(len(candidates), np.int64)
    places[ranked.positions] = np.arange(1, len(ranked) + 1)
    return Explanation(
        Trace(route, retrieved, first, candidates, ranked, ranked, ranked),
        scored,
        np.where(places == 0, Loss.THRESHOLD, Loss.TOP_K),
        places,
        {},
        order_of(candidates, scored, places),
        {position: (f"{position:032x}", "text") for position in range(len(candidates))},
        {},
        threshold=profile.rank.recipe.threshold,
        threshold_on=profile.rank.recipe.threshold_on,
        k=fusion.k,
        method=fusion.method,
        nearest=Lazy(lambda: nearest_of(candidates)),
    )


def nearest_of(candidates: Candidates) -> dict[int, tuple[str, ...]]:
    """A word for every compared candidate and word of the query."""
    late = candidates.late_interaction
    return {} if late is None else dict.fromkeys(late.positions.tolist(), late.words)


@settings(max_examples=examples(300), deadline=None)
@given(st.integers(0, 2**32))
def test_every_score_is_repeated_from_its_explanation_exactly(seed: int) -> None:
    """Equal in float64 at every level, also after serialisation."""
    explanation = explained(np.random.default_rng(seed))
    sent = recall_pb2.Explanation.FromString(explanation_message(explanation).SerializeToString())
    assert len(sent.candidates) == len(explanation.trace.candidates)
    for position, candidate in zip(explanation.listed, sent.candidates, strict=True):
        assert recompute(candidate) == candidate.score == explanation.scoring.scores[position]
        assert relevance(candidate) == candidate.relevance
        assert (
            fused(candidate.fusion) == candidate.fusion.score == explanation.trace.candidates.fused[position]
        )
        values = signals(candidate)
        assert all(values[signal.name] == signal.normalised for signal in candidate.signals)
        for term in candidate.fusion.terms:
            assert contribution(term, method=explanation.method, k=explanation.k) == term.contribution


@settings(max_examples=examples(50), deadline=None)
@given(st.integers(0, 2**32))
def test_a_changed_part_changes_the_score(seed: int) -> None:
    """The recomputation reads steps and raw signals: a change of one changes the score."""
    explanation = explained(np.random.default_rng(seed))
    for candidate in explanation_message(explanation).candidates:
        candidate.steps.add(name="more", value=0.25, adds=True)
        assert recompute(candidate) == candidate.score + 0.25


def by_hand() -> Explanation:
    """Three memories, reciprocal ranks, the blend of cems."""
    retrieved = Retrieved(
        (
            Ranking("dense", Hits(np.array([1, 2]), np.array([0.9, 0.5], np.float32))),
            Ranking("lexical", Hits(np.array([1]), np.array([7.0], np.float32))),
        )
    )
    cosines = np.array([0.0, 0.9, 0.5, 0.0], np.float32)
    first = fuse_rankings(
        retrieved,
        cosines=lambda ordinals: cosines[ordinals],
        method="rrf",
        weights={"dense": 2.0, "lexical": 1.0},
        rank_bonuses=(0.05,),
    )
    count = len(first)
    signals = raw_signals_of(np.random.default_rng(0), count)
    constants = PROFILES["cems"].rank
    scored = score_candidates(first, signals, Route(), now=NOW, constants=constants)
    ranked = best_first(first, scored)
    return Explanation(
        Trace(Route(), retrieved, first, first, ranked, ranked, ranked),
        scored,
        np.array([Loss.NONE, Loss.NEAR_DUPLICATE]),
        np.array([1, 2]),
        {1: Duplicate(0, 0.875, Loss.NEAR_DUPLICATE)},
        (0, 1),
        {0: ("a" * 32, "one"), 1: ("b" * 32, "two")},
        {"a" * 32: 1},
        threshold=0.3,
        threshold_on="relevance",
        k=60,
        method="rrf",
        nearest=Lazy(dict),
    )


def test_fusion_is_shown_by_hand() -> None:
    """2 / (60 + 1) + .05 of the dense list, 1 / (60 + 1) + .05 of the lexical one."""
    candidate = CandidateMessages(by_hand()).of(0)
    shown = [(term.channel, term.rank, term.weight, term.bonus) for term in candidate.fusion.terms]
    assert shown == [("dense", 1, 2.0, 0.05), ("lexical", 1, 1.0, 0.05)]
    assert [term.contribution for term in candidate.fusion.terms] == [2 / 61 + 0.05, 1 / 61 + 0.05]
    assert [(hit.channel, hit.rank, hit.score) for hit in candidate.hits][1] == ("lexical", 1, 7.0)
    assert candidate.fusion.score == np.float32(3 / 61 + 0.1)


def test_the_reason_for_dropping_a_candidate_is_reported() -> None:
    """The stage, the better memory and the similarity; a memory in the answer has a rank."""
    explanation = by_hand()
    best, dropped = explanation_message(explanation).candidates
    assert (best.rank, best.packed, best.loss, best.dropped_by) == (1, True, recall_pb2.LOSS_NONE, "")
    assert (dropped.rank, dropped.packed, dropped.dropped_by) == (0, False, "diversify")
    assert (dropped.loss, dropped.duplicate_of) == (recall_pb2.LOSS_NEAR_DUPLICATE, "a" * 32)
    assert dropped.similarity == 0.875


def test_who_may_not_be_seen_is_only_counted() -> None:
    """A withheld candidate is not shown, not even as the better of two duplicates."""
    explanation = by_hand()
    hidden = Explanation(
        explanation.trace,
        explanation.scoring,
        explanation.losses,
        explanation.places,
        explanation.duplicates,
        explanation.listed,
        {1: explanation.shown[1]},
        {},
        threshold=0.0,
        threshold_on="score",
        k=60,
        method="rrf",
        nearest=Lazy(dict),
    )
    message = explanation_message(hidden)
    assert (len(message.candidates), message.withheld, message.candidate_count) == (1, 1, 1)
    assert message.candidates[0].duplicate_of == ""


def test_nearest_words_are_those_of_the_shown_memories() -> None:
    """Of rows that were read before: no record is read again, and a withheld memory is not compared."""
    text, states = "a slow ferry", np.zeros((3, 8), np.float32)
    states[0, 0], states[1, 1], states[2, 2] = 1.0, 1.0, 1.0
    codes = np.packbits(np.array([[0, 1, 0] + [0] * 5, [1, 0, 0] + [0] * 5], np.uint8), axis=1)
    late = LateInteraction(
        np.array([0, 2]), ("ship", "slow"), np.ones(2), np.zeros((2, 2)), 1.0, states, np.array([0, 1, 0])
    )
    found = np.zeros(3)
    candidates = Candidates(
        np.array([7, 8, 9]), found, found, found, np.zeros(3, np.uint8), late_interaction=late
    )
    read: list[int] = []

    def token_codes(ordinals: Any) -> tuple[Any, Any]:
        read.extend(ordinals.tolist())
        return np.concatenate([codes] * len(ordinals)), 2 * np.arange(1, len(ordinals) + 1)

    signals = SimpleNamespace(token_codes=token_codes)
    encoder = SimpleNamespace(coded_words=lambda *_: [(2, 6), (7, 12)])
    snapshot: Any = SimpleNamespace(generation=SimpleNamespace(signals=signals), encoder=encoder)
    row = {"text": text, "speaker": "", "role": "user", "title": "", "event_kind": "message"}
    assert nearest_words(snapshot, candidates, {2: row}, (0, 1, 2)) == {2: ("ferry", "slow")}
    assert read == [9]
    assert nearest_words(snapshot, candidates, {0: row, 2: row}, (0, 1)) == {0: ("ferry", "slow")}
    assert read == [9, 7]
    assert nearest_words(snapshot, candidates, {1: row}, (1,)) == {}


def test_losses_have_the_numbers_of_the_contract() -> None:
    """Python and protobuf have the same losses."""
    assert {f"LOSS_{loss.name}": loss.value for loss in Loss} == dict(recall_pb2.Loss.items())
