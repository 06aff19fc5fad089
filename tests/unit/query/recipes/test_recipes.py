"""The constants of specification section 6, pinned, and worked through the engine by hand."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helix_memory.memory_types import MEMORY_TYPES
from helix_query.profile.files import load_profiles
from helix_query.profile.intent import Intent
from helix_query.profile.profile import RankingProfile
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidates import (
    Candidates,
    CandidateSignals,
    Ranking,
    Retrieved,
    Route,
)
from helix_query.recall.stages.fuse import fuse_rankings
from helix_query.recall.stages.rank import best_first, scoring
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.signals.columns import NO_TIME, code
from helix_shared.errors import InvalidInputError

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PROFILES = load_profiles()
CEMS, ENGRAM = PROFILES["cems"], PROFILES["engram"]
HERE, ELSEWHERE, NOWHERE = code("here"), code("elsewhere"), code("")


def days_ago(days: float) -> int:
    """Microseconds since 1970."""
    return int((NOW - timedelta(days=days)).timestamp() * 1_000_000)


def signals_of(count: int, **columns: Any) -> CandidateSignals:
    """Semantic memories of now without project, some columns given."""
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
    }
    return CandidateSignals(**defaults | {name: np.array(value) for name, value in columns.items()})


def pool_of(fused: Sequence[float], cosine: Sequence[float]) -> Candidates:
    """A pool of ordinals 0, 1, 2, ..."""
    count = len(fused)
    return Candidates(
        np.arange(count, dtype=np.int64),
        np.array(fused, np.float64),
        np.array(cosine, np.float64),
        np.zeros(count),
        np.ones(count, np.uint8),
    )


def scores(
    profile: RankingProfile, pool: Candidates, signals: CandidateSignals, project: str = "", **more: Any
) -> dict[int, float]:
    """Final score by position of those that stay."""
    scored = scoring(
        pool,
        signals,
        Route(),
        now=NOW,
        constants=profile.rank,
        type_names=MEMORY_TYPES,
        project_code=code(project) if project else None,
        **more,
    )
    ranked = best_first(pool, scored)
    return dict(zip(ranked.positions.tolist(), ranked.scores.tolist(), strict=True))


def alike(profile: RankingProfile, count: int, **columns: Any) -> list[float]:
    """Final scores of `count` candidates with fused score and cosine 1, which differ by `columns` alone."""
    project = columns.pop("project", "")
    found = scores(profile, pool_of([1.0] * count, [1.0] * count), signals_of(count, **columns), project)
    return [found[position] for position in range(count)]


def recipe(profile: RankingProfile, **constants: Any) -> RankingProfile:
    """`profile` with other constants in its recipe."""
    values = profile.model_dump()
    values["rank"]["recipe"] |= constants
    return RankingProfile.model_validate(values)


def test_cems_has_every_published_constant() -> None:
    """Section 6: weights 2 and 1, bonuses, blend, threshold, factors, budget, limit, MMR."""
    fusion = (CEMS.fuse.method, CEMS.fuse.k, CEMS.fuse.weights["dense"], CEMS.fuse.weights["lexical"])
    assert fusion == ("rrf", 60, 2.0, 2.0)
    assert (CEMS.fuse.rephrased_weight, CEMS.fuse.rank_bonuses) == (1.0, (0.05, 0.02, 0.02))
    assert (CEMS.rank.method, CEMS.rank.fused_share, CEMS.rank.recipe.fused_normal) == (
        "blend",
        0.5,
        "minmax",
    )
    assert (CEMS.rank.recipe.threshold, CEMS.rank.recipe.threshold_on) == (0.3, "relevance")
    assert (CEMS.rank.recipe.access_days, CEMS.rank.boosts.pinned, CEMS.rank.boosts.priority) == (
        60.0,
        0.1,
        1.0,
    )
    projects = (CEMS.rank.recipe.same_project, CEMS.rank.recipe.other_project, CEMS.rank.recipe.no_project)
    assert projects == (1.3, 0.8, 0.9)
    assert (CEMS.token_budget, CEMS.top_k) == (2000, 5)
    assert (CEMS.diversify.coverage_lambda, CEMS.diversify.session_floor) == (0.6, 0.0)
    assert CEMS.retrieve.rephrase.intents == (Intent.TEMPORAL, Intent.PREFERENCE)


def test_engram_has_every_published_constant() -> None:
    """Section 6: four channels, 3 x top_k, hop .5, beta 8, weights by intent, factors, threshold, top_k."""
    retrieve, constants = ENGRAM.retrieve, ENGRAM.rank.recipe
    assert retrieve.channels == ("dense", "lexical", "entity", "associative")
    assert (retrieve.limit_of("dense", 10), retrieve.limit_of("lexical", 10)) == (30, 30)
    assert (retrieve.fields.text, retrieve.fields.expansions) == (1.0, 1.0)
    assert (retrieve.entity_hop, retrieve.associative_beta) == (0.5, 8.0)
    assert (constants.importance_least, constants.importance_gain, constants.access_gain) == (0.8, 0.4, 0.1)
    assert (constants.noise, constants.noise_sigma) == (False, 0.02)
    assert (constants.threshold, constants.threshold_on) == (0.6, "score")
    assert ENGRAM.top_k == 10


@pytest.mark.parametrize(
    ("intent", "raised"),
    [(Intent.WHY, "entity"), (Intent.WHO, "entity"), (Intent.WHEN, "lexical"), (Intent.HOW, "dense")],
)
def test_engram_raises_the_channel_that_suits_the_intent(intent: Intent, raised: str) -> None:
    """Why and who: the graph; when: BM25; how: dense."""
    plain, weights = ENGRAM.fuse.weights_for(()), ENGRAM.fuse.weights_for((intent,))
    assert weights[raised] > plain[raised]
    assert weights[raised] == max(weights.values())


def test_cems_fusion_by_hand() -> None:
    """2/(60 + 1) + .05 = .0827869 in one list; expansions weigh 1: 1/(60 + 2) + .02 = .0361290 more.

    Memory 2 is second in the dense list: 2/62 + .02 = .0522581, and first of the expansion:
    1/61 + .05 = .0663934, together .1186515, so that it passes memory 1 with .0827869 + .0361290 = .1189159
    only just not.
    """
    first = Hits(np.array([1, 2]), np.array([0.9, 0.8], np.float32))
    other_words = Hits(np.array([2, 1]), np.array([7.0, 6.0], np.float32))
    pool = fuse_rankings(
        Retrieved((Ranking(DENSE, first), Ranking(LEXICAL, other_words, "I use"))),
        cosines=lambda ordinals: np.zeros(len(ordinals), np.float32),
        method=CEMS.fuse.method,
        weights=CEMS.fuse.weights_for(()),
        k=CEMS.fuse.k,
        rank_bonuses=CEMS.fuse.rank_bonuses,
        rephrased_weight=CEMS.fuse.rephrased_weight,
    )
    assert pool.ordinals.tolist() == [1, 2]
    assert pool.fused.tolist() == pytest.approx([0.1189159, 0.1186515], abs=1e-6)


def test_cems_blends_half_and_half_and_drops_below_three_tenths() -> None:
    """Fused .09, .05, .01 become 1, .5, 0; cosines .6, .3, .5: .8, .4 and .25, which is out."""
    found = scores(CEMS, pool_of([0.09, 0.05, 0.01], [0.6, 0.3, 0.5]), signals_of(3))
    assert found == pytest.approx({0: 0.8, 1: 0.4})


def test_the_threshold_of_cems_looks_at_relevance_before_the_factors() -> None:
    """.4 of relevance stays though its age takes it to .2; .25 stays out though it is pinned, priority 2."""
    signals = signals_of(
        3, touched_at=[days_ago(0), days_ago(60), days_ago(0)], pinned=[0, 0, 1], priority=[1, 1, 2]
    )
    found = scores(CEMS, pool_of([0.09, 0.05, 0.01], [0.6, 0.3, 0.5]), signals)
    assert found == pytest.approx({0: 0.8, 1: 0.2})


def test_cems_halves_what_nobody_touched_for_sixty_days() -> None:
    """1 / (1 + days/60): 1 now, 2/3 after 30 days, 1/2 after 60, 1/4 after 180; the future counts as now."""
    touched = [days_ago(days) for days in (0, 30, 60, 180, -5)]
    assert alike(CEMS, 5, touched_at=touched) == pytest.approx([1.0, 2 / 3, 0.5, 0.25, 1.0])


def test_cems_multiplies_by_priority_and_pin() -> None:
    """Priority 1, 1.5, 2 are factors; pinned is 1.1; both together 2.2."""
    found = alike(CEMS, 5, priority=[1.0, 1.5, 2.0, 1.0, 2.0], pinned=[0, 0, 0, 1, 1])
    assert found == pytest.approx([1.0, 1.5, 2.0, 1.1, 2.2])


def test_cems_multiplies_by_project() -> None:
    """Same 1.3, other .8, none .9."""
    codes = [HERE, ELSEWHERE, NOWHERE]
    assert alike(CEMS, 3, project_code=codes, project="here") == pytest.approx([1.3, 0.8, 0.9])


def test_a_caller_without_project_prefers_none() -> None:
    """There is nothing to be the same or other than."""
    assert alike(CEMS, 3, project_code=[HERE, ELSEWHERE, NOWHERE]) == pytest.approx([1.0, 1.0, 1.0])


def test_engram_multiplies_by_importance() -> None:
    """.8 + .4 x importance: .8, 1.0, 1.2; the best is 1, so .6667, .8333, 1."""
    found = alike(ENGRAM, 3, salience=[0.0, 0.5, 1.0])
    assert found == pytest.approx([0.8 / 1.2, 1.0 / 1.2, 1.0])


def test_engram_halves_episodic_memories_by_half_life() -> None:
    """exp(-.693 x 30 / 30) = .50007 for an episode of 30 days; a fact of 30 days keeps its score."""
    kinds = [MEMORY_TYPES.index(kind) for kind in ("semantic", "semantic", "episodic", "episodic")]
    found = alike(
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
    found = alike(floored, 2, type_code=kinds, occurred_at=[days_ago(0), days_ago(30)])
    assert found == pytest.approx([1.0, 0.7500368], abs=1e-6)


def test_engram_multiplies_by_accesses() -> None:
    """1 + .1 ln(1 + n): 1, 1.0693147 for one access, 1.2397895 for ten; divided by the best."""
    found = alike(ENGRAM, 3, access_count=[0, 1, 10])
    assert found == pytest.approx([1 / 1.2397895, 1.0693147 / 1.2397895, 1.0])


def test_engram_drops_what_scores_below_sixty_percent() -> None:
    """Fused 1/60, .7/60 and .5/60 are 1, .7 and .5 of the best; the cosine has no say."""
    found = scores(ENGRAM, pool_of([1 / 60, 0.7 / 60, 0.5 / 60], [0.1, 0.2, 0.9]), signals_of(3))
    assert found == pytest.approx({0: 1.0, 1: 0.7})


def test_noise_is_off_unless_asked() -> None:
    """Another seed changes nothing."""
    pool = pool_of([1.0, 0.9, 0.8], [0.0] * 3)
    assert scores(ENGRAM, pool, signals_of(3), seed=1) == scores(ENGRAM, pool, signals_of(3), seed=2)


def test_noise_is_that_of_question_and_memory() -> None:
    """The same question gives the same answer; another one, other noise; a larger pool changes nobody's."""
    noisy = recipe(ENGRAM, noise=True, threshold=0.0)
    few, many = pool_of([1.0, 0.5], [0.0] * 2), pool_of([1.0, 0.5, 0.5], [0.0] * 3)
    once = scores(noisy, few, signals_of(2), seed=7)
    assert scores(noisy, few, signals_of(2), seed=7) == once
    assert scores(noisy, few, signals_of(2), seed=8) != once
    assert {place: scores(noisy, many, signals_of(3), seed=7)[place] for place in once} == once


def test_noise_is_gaussian_with_the_sigma_of_the_recipe() -> None:
    """20,000 equal scores of 1: mean 1, deviation .02, and 68.3 % within one deviation."""
    count = 20_000
    noisy = recipe(ENGRAM, noise=True, threshold=0.0)
    drawn = np.array(
        list(scores(noisy, pool_of([1.0] * count, [0.0] * count), signals_of(count), seed=3).values())
    )
    assert drawn.mean() == pytest.approx(1.0, abs=0.001)
    assert drawn.std() == pytest.approx(0.02, rel=0.03)
    assert (np.abs(drawn - 1.0) < 0.02).mean() == pytest.approx(math.erf(1 / math.sqrt(2)), abs=0.015)


def test_helix_scores_are_untouched_by_recipes() -> None:
    """Old, often read, of another project: the default profile knows no factor for any of it."""
    plain = signals_of(2)
    marked = signals_of(2, access_count=[9, 0], project_code=[ELSEWHERE, HERE])
    pool = pool_of([1.0, 0.5], [0.5, 0.5])
    quiet = PROFILES["helix"].model_copy(deep=True)
    assert scores(quiet, pool, plain) == scores(quiet, pool, marked)


WEIGHTS = "\n".join(
    f"{kind} = {{ sim = 1.0, recency = 0.0, salience = 0.0, confidence = 0.0, graph = 0.0 }}"
    for kind in MEMORY_TYPES
)


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        ('[rerank]\nmethod = "cross_encoder"', "rerank"),
        ("[retrieve]\nlimits = { dense = 1001 }", "retrieve.limits.dense"),
        ('[retrieve]\nchannels = ["dense", "graph"]', "retrieve.channels"),
        ("[retrieve]\nper_top_k = { entities = 3.0 }", "retrieve.per_top_k"),
        ("[retrieve]\nassociative_beta = 0.0", "retrieve.associative_beta"),
        ("[retrieve]\nentity_hop = 1.5", "retrieve.entity_hop"),
        ('[retrieve.rephrase]\nintents = ["who"]', "retrieve.rephrase.intents"),
        ("[retrieve.rephrase]\nmost = 9", "retrieve.rephrase.most"),
        ("[fuse]\nrephrased_weight = -1.0", "fuse.rephrased_weight"),
        ("[fuse]\nweights = { dense = 1.0, lexical = 1.0, graph = 1.0 }", "fuse.weights.graph"),
        ("[rank.recipe]\nhalf_life = 30.0", "rank.recipe.half_life"),
        ("[rank.recipe]\nsame_project = 0.0", "rank.recipe.same_project"),
        ("[rank.recipe]\nimportance_least = 0.0", "must not both be 0"),
        ('[rank.recipe]\nthreshold_on = "cosine"', "rank.recipe.threshold_on"),
        ("[diversify]\ncoverage_lambda = 1.1", "diversify.coverage_lambda"),
    ],
)
def test_a_wrong_recipe_stops_the_start_with_file_and_key(tmp_path: Path, extra: str, said: str) -> None:
    """A misspelt constant, or a stage that is not there, must never be ignored silently."""
    text = f'name = "mine"\ndescription = "t"\n{extra}\n[rank.weights]\n{WEIGHTS}\n'
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        load_profiles(tmp_path)
    assert "mine.toml" in str(caught.value)
    assert said in str(caught.value)


def test_limits_follow_top_k_where_the_profile_says_so() -> None:
    """3 x 10 = 30, at most 1,000, at least 1; a channel without a multiple keeps its limit."""
    retrieve = ENGRAM.retrieve
    assert [retrieve.limit_of("dense", top_k) for top_k in (1, 10, 200)] == [3, 30, 600]
    assert PROFILES["helix"].retrieve.limit_of("dense", 200) == 100
    small = type(retrieve).model_validate({"per_top_k": {"dense": 0.01, "lexical": 10.0}})
    assert (small.limit_of("dense", 5), small.limit_of("lexical", 200), small.limit_of("entity", 5)) == (
        1, 1000, 100,
    )  # fmt: skip
