"""The scoring of the recipes, worked out by hand."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_query.profile.files import load_profiles
from helix_query.profile.profile import RankingProfile
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidate_signals import CandidateSignals
from helix_query.recall.candidates import Candidates, Ranking, Retrieved, Route
from helix_query.recall.stages.fuse import fuse_rankings
from helix_query.recall.stages.rank import best_first, score_candidates
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import NO_TIME, code

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PROFILES = load_profiles()
CEMS, ENGRAM = PROFILES["cems"], PROFILES["engram"]
HERE, ELSEWHERE, NOWHERE = code("here"), code("elsewhere"), code("")


def days_ago(days: float) -> int:
    """The moment so many days before `NOW`, in microseconds since 1970."""
    return int((NOW - timedelta(days=days)).timestamp() * 1_000_000)


def signals_of(count: int, **columns: Any) -> CandidateSignals:
    """Semantic memories of `NOW` without a project, with `columns` replaced."""
    defaults: dict[str, Any] = {
        "type_code": np.full(count, MEMORY_TYPES.index("semantic"), np.uint8),
        "touched_at": np.full(count, days_ago(0)),
        "occurred_at": np.full(count, days_ago(0)),
        "event_start": np.full(count, NO_TIME),
        "event_end": np.full(count, NO_TIME),
        "salience": np.full(count, 0.5),
        "confidence": np.full(count, 0.5),
        "priority": np.ones(count),
        "pinned": np.zeros(count, bool),
        "project_code": np.zeros(count, np.int64),
        "session_code": np.zeros(count, np.int64),
        "access_count": np.zeros(count, np.int64),
        "token_count": np.full(count, 10),
        "about_code": np.zeros(count, np.int64),
        "speech_act": np.zeros(count, np.uint8),
        "source_code": np.arange(1, count + 1),
        "is_derived": np.zeros(count, bool),
        "replaced_at": np.full(count, NO_TIME),
        "sequence": np.arange(1, count + 1),
    }
    return CandidateSignals(**defaults | {name: np.array(value) for name, value in columns.items()})


def candidates_of(fused: Sequence[float], cosine: Sequence[float]) -> Candidates:
    """Candidates with ordinals 0, 1, 2, ..."""
    count = len(fused)
    return Candidates(
        np.arange(count, dtype=np.int64),
        np.array(fused, np.float64),
        np.array(cosine, np.float64),
        np.zeros(count),
        np.ones(count, np.uint8),
    )


def scores(
    profile: RankingProfile, candidates: Candidates, signals: CandidateSignals, project: str = "", **more: Any
) -> dict[int, float]:
    """Final score by position, without candidates below the threshold."""
    scored = score_candidates(
        candidates,
        signals,
        Route(),
        now=NOW,
        constants=profile.rank,
        project_code=code(project) if project else None,
        **more,
    )
    ranked = best_first(candidates, scored)
    return dict(zip(ranked.positions.tolist(), ranked.scores.tolist(), strict=True))


def scores_by_columns(profile: RankingProfile, count: int, **columns: Any) -> list[float]:
    """Final scores of `count` candidates with fused score and cosine 1 that differ in `columns` only."""
    project = columns.pop("project", "")
    found = scores(
        profile, candidates_of([1.0] * count, [1.0] * count), signals_of(count, **columns), project
    )
    return [found[position] for position in range(count)]


def recipe(profile: RankingProfile, **constants: Any) -> RankingProfile:
    """`profile` with other constants of its recipe."""
    values = profile.model_dump()
    values["rank"]["recipe"] |= constants
    return RankingProfile.model_validate(values)


def test_cems_fusion_by_hand() -> None:
    """Dense has weight 2, the rephrasing 1; bonuses .05 and .02 for ranks 1 and 2.

    Memory 1: 2/61 + .05 and 1/62 + .02, in total .1189159. Memory 2: 2/62 + .02 and 1/61 + .05, in total
    .1186515.
    """
    first = Hits(np.array([1, 2]), np.array([0.9, 0.8], np.float32))
    other_words = Hits(np.array([2, 1]), np.array([7.0, 6.0], np.float32))
    candidates = fuse_rankings(
        Retrieved((Ranking(DENSE, first), Ranking(LEXICAL, other_words, "I use"))),
        cosines=lambda ordinals: np.zeros(len(ordinals), np.float32),
        method=CEMS.fuse.method,
        weights=CEMS.fuse.weights_for(()),
        k=CEMS.fuse.k,
        rank_bonuses=CEMS.fuse.rank_bonuses,
        rephrased_weight=CEMS.fuse.rephrased_weight,
    )
    assert candidates.ordinals.tolist() == [1, 2]
    assert candidates.fused.tolist() == pytest.approx([0.1189159, 0.1186515], abs=1e-6)


def test_cems_blends_fused_score_and_cosine() -> None:
    """Fused .09, .05, .01 become 1, .5, 0; with cosines .6, .3, .5: .8, .4, and .25, below .3."""
    found = scores(CEMS, candidates_of([0.09, 0.05, 0.01], [0.6, 0.3, 0.5]), signals_of(3))
    assert found == pytest.approx({0: 0.8, 1: 0.4})


def test_the_threshold_of_cems_applies_before_the_factors() -> None:
    """Relevance .4 is kept although its age halves it; .25 is dropped although its factors exceed 2."""
    signals = signals_of(
        3, touched_at=[days_ago(0), days_ago(60), days_ago(0)], pinned=[0, 0, 1], priority=[1, 1, 2]
    )
    found = scores(CEMS, candidates_of([0.09, 0.05, 0.01], [0.6, 0.3, 0.5]), signals)
    assert found == pytest.approx({0: 0.8, 1: 0.2})


def test_cems_halves_scores_after_sixty_days_without_access() -> None:
    """1 / (1 + days/60): 1 now, 2/3 after 30 days, 1/2 after 60, 1/4 after 180; the future counts as now."""
    touched = [days_ago(days) for days in (0, 30, 60, 180, -5)]
    assert scores_by_columns(CEMS, 5, touched_at=touched) == pytest.approx([1.0, 2 / 3, 0.5, 0.25, 1.0])


def test_cems_multiplies_by_priority_and_pin() -> None:
    """Priority 1, 1.5, 2 are factors; pinned is 1.1; both together 2.2."""
    found = scores_by_columns(CEMS, 5, priority=[1.0, 1.5, 2.0, 1.0, 2.0], pinned=[0, 0, 0, 1, 1])
    assert found == pytest.approx([1.0, 1.5, 2.0, 1.1, 2.2])


def test_cems_multiplies_by_project() -> None:
    """Same 1.3, other .8, none .9."""
    codes = [HERE, ELSEWHERE, NOWHERE]
    assert scores_by_columns(CEMS, 3, project_code=codes, project="here") == pytest.approx([1.3, 0.8, 0.9])


def test_a_caller_without_a_project_has_no_project_factor() -> None:
    """All three factors are 1."""
    assert scores_by_columns(CEMS, 3, project_code=[HERE, ELSEWHERE, NOWHERE]) == pytest.approx(
        [1.0, 1.0, 1.0]
    )


def test_engram_multiplies_by_importance() -> None:
    """.8 + .4 x importance: .8, 1.0, 1.2; the best is 1, so .6667, .8333, 1."""
    found = scores_by_columns(ENGRAM, 3, salience=[0.0, 0.5, 1.0])
    assert found == pytest.approx([0.8 / 1.2, 1.0 / 1.2, 1.0])


def test_engram_halves_episodic_memories_by_half_life() -> None:
    """exp(-.693 x 30 / 30) = .50007 for an episodic memory of 30 days; a semantic one keeps its score."""
    kinds = [MEMORY_TYPES.index(kind) for kind in ("semantic", "semantic", "episodic", "episodic")]
    found = scores_by_columns(
        recipe(ENGRAM, threshold=0.0),
        4,
        type_code=np.array(kinds, np.uint8),
        occurred_at=[days_ago(days) for days in (0, 30, 0, 30)],
    )
    assert found == pytest.approx([1.0, 1.0, 1.0, 0.5000736], abs=1e-6)


def test_a_floor_bounds_the_decay() -> None:
    """.5 + .5 x exp(-.693 x 30 / 30) = .7500368."""
    floored = recipe(ENGRAM, threshold=0.0, decay_floor=0.5)
    kinds = np.full(2, MEMORY_TYPES.index("episodic"), np.uint8)
    found = scores_by_columns(floored, 2, type_code=kinds, occurred_at=[days_ago(0), days_ago(30)])
    assert found == pytest.approx([1.0, 0.7500368], abs=1e-6)


def test_engram_multiplies_by_accesses() -> None:
    """1 + .1 ln(1 + n): 1, 1.0693147 for one access, 1.2397895 for ten; divided by the best."""
    found = scores_by_columns(ENGRAM, 3, access_count=[0, 1, 10])
    assert found == pytest.approx([1 / 1.2397895, 1.0693147 / 1.2397895, 1.0])


def test_engram_drops_scores_below_sixty_percent_of_the_best() -> None:
    """Fused 1/60, .7/60 and .5/60 are 1, .7 and .5 of the best; the cosine does not count."""
    found = scores(ENGRAM, candidates_of([1 / 60, 0.7 / 60, 0.5 / 60], [0.1, 0.2, 0.9]), signals_of(3))
    assert found == pytest.approx({0: 1.0, 1: 0.7})


def test_the_default_profile_has_no_recipe_factors() -> None:
    """Accesses and another project change no score."""
    plain = signals_of(2)
    marked = signals_of(2, access_count=[9, 0], project_code=[ELSEWHERE, HERE])
    candidates = candidates_of([1.0, 0.5], [0.5, 0.5])
    assert scores(PROFILES["helix"], candidates, plain) == scores(PROFILES["helix"], candidates, marked)


def test_noise_is_off_unless_asked() -> None:
    """Another seed changes nothing."""
    candidates = candidates_of([1.0, 0.9, 0.8], [0.0] * 3)
    assert scores(ENGRAM, candidates, signals_of(3), seed=1) == scores(
        ENGRAM, candidates, signals_of(3), seed=2
    )


def test_noise_depends_on_the_query_and_the_memory_alone() -> None:
    """The same seed gives the same scores, another one other scores, and more candidates change none."""
    noisy = recipe(ENGRAM, noise=True, threshold=0.0)
    few, many = candidates_of([1.0, 0.5], [0.0] * 2), candidates_of([1.0, 0.5, 0.5], [0.0] * 3)
    once = scores(noisy, few, signals_of(2), seed=7)
    assert scores(noisy, few, signals_of(2), seed=7) == once
    assert scores(noisy, few, signals_of(2), seed=8) != once
    assert {place: scores(noisy, many, signals_of(3), seed=7)[place] for place in once} == once


def test_noise_is_gaussian_with_the_sigma_of_the_recipe() -> None:
    """20,000 equal scores of 1: mean 1, deviation .02, and 68.3 % within one deviation."""
    count = 20_000
    noisy = recipe(ENGRAM, noise=True, threshold=0.0)
    drawn = np.array(
        list(scores(noisy, candidates_of([1.0] * count, [0.0] * count), signals_of(count), seed=3).values())
    )
    assert drawn.mean() == pytest.approx(1.0, abs=0.001)
    assert drawn.std() == pytest.approx(0.02, rel=0.03)
    assert (np.abs(drawn - 1.0) < 0.02).mean() == pytest.approx(math.erf(1 / math.sqrt(2)), abs=0.015)
