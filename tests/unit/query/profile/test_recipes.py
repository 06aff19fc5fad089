"""The published constants of the recipes, and the bounds of their sections."""

from pathlib import Path

import pytest

from helix_query.profile.files import load_profiles
from helix_query.profile.intent import Intent
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_shared.errors import InvalidInputError

PROFILES = load_profiles()
CEMS, ENGRAM = PROFILES["cems"], PROFILES["engram"]


def test_cems_has_every_published_constant() -> None:
    """Section 6: weights 2 and 1, bonuses, blend, threshold, factors, budget, limit, MMR."""
    fusion = (CEMS.fuse.method, CEMS.fuse.k, CEMS.fuse.weights[DENSE], CEMS.fuse.weights[LEXICAL])
    assert fusion == ("rrf", 60, 2.0, 2.0)
    assert (CEMS.fuse.rephrased_weight, CEMS.fuse.rank_bonuses) == (1.0, (0.05, 0.02, 0.02))
    assert (CEMS.rank.method, CEMS.rank.fused_share, CEMS.rank.recipe.fused_normalisation) == (
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
    assert (CEMS.diversify.session_mmr_lambda, CEMS.diversify.session_floor) == (0.6, 0.0)
    assert CEMS.retrieve.rephrase.intents == (Intent.TEMPORAL, Intent.PREFERENCE)


def test_engram_has_every_published_constant() -> None:
    """Section 6: four channels, 3 x top_k, hop .5, beta 8, weights by intent, factors, threshold, top_k."""
    retrieve, constants = ENGRAM.retrieve, ENGRAM.rank.recipe
    assert retrieve.channels == ("dense", "lexical", "entity", "associative")
    assert (retrieve.limit_of("dense", 10), retrieve.limit_of("lexical", 10)) == (30, 30)
    assert (retrieve.fields.text, retrieve.fields.expansions) == (1.0, 1.0)
    assert (retrieve.entity_hop, retrieve.associative_beta) == (0.5, 8.0)
    assert (constants.importance_base, constants.importance_gain, constants.access_gain) == (0.8, 0.4, 0.1)
    assert (constants.threshold, constants.threshold_on) == (0.6, "score")
    assert ENGRAM.top_k == 10


@pytest.mark.parametrize(
    ("intent", "raised"),
    [(Intent.WHY, "entity"), (Intent.WHO, "entity"), (Intent.WHEN, "lexical"), (Intent.HOW, "dense")],
)
def test_engram_weights_channels_by_intent(intent: Intent, raised: str) -> None:
    """Why and who: entity; when: lexical; how: dense."""
    plain, weights = ENGRAM.fuse.weights_for(()), ENGRAM.fuse.weights_for((intent,))
    assert weights[raised] > plain[raised]
    assert weights[raised] == max(weights.values())


@pytest.mark.parametrize(
    ("extra", "error"),
    [
        ('[rerank]\nmethod = "cross_encoder"', "rerank"),
        ("[retrieve]\nlimits = { dense = 1001 }", "retrieve.limits.dense"),
        ('[retrieve]\nchannels = ["dense", "graph"]', "retrieve.channels"),
        ("[retrieve]\nper_top_k = { entities = 3.0 }", "retrieve.per_top_k"),
        ("[retrieve]\nassociative_beta = 0.0", "retrieve.associative_beta"),
        ("[retrieve]\nentity_hop = 1.5", "retrieve.entity_hop"),
        ('[retrieve.rephrase]\nintents = ["who"]', "retrieve.rephrase.intents"),
        ("[retrieve.rephrase]\nmax_rephrasings = 9", "retrieve.rephrase.max_rephrasings"),
        ("[fuse]\nrephrased_weight = -1.0", "fuse.rephrased_weight"),
        ("[fuse]\nweights = { dense = 1.0, lexical = 1.0, graph = 1.0 }", "fuse.weights.graph"),
        ("[rank.recipe]\nhalf_life = 30.0", "rank.recipe.half_life"),
        ("[rank.recipe]\nsame_project = 0.0", "rank.recipe.same_project"),
        ("[rank.recipe]\nimportance_base = 0.0", "must not both be 0"),
        ('[rank.recipe]\nthreshold_on = "cosine"', "rank.recipe.threshold_on"),
        ("[diversify]\nsession_mmr_lambda = 1.1", "diversify.session_mmr_lambda"),
    ],
)
def test_a_wrong_recipe_is_refused_with_file_and_key(tmp_path: Path, extra: str, error: str) -> None:
    """An unknown key is an error as well."""
    text = f'name = "mine"\ndescription = "t"\n{extra}\n'
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(InvalidInputError) as caught:
        load_profiles(tmp_path)
    assert "mine.toml" in str(caught.value)
    assert error in str(caught.value)


def test_limits_may_be_a_multiple_of_top_k() -> None:
    """3 x 10 = 30, at most 1,000, at least 1; a channel without a multiple keeps its limit."""
    retrieve = ENGRAM.retrieve
    assert [retrieve.limit_of("dense", top_k) for top_k in (1, 10, 200)] == [3, 30, 600]
    assert PROFILES["helix"].retrieve.limit_of("dense", 200) == 100
    small = type(retrieve).model_validate({"per_top_k": {"dense": 0.01, "lexical": 10.0}})
    assert (small.limit_of("dense", 5), small.limit_of("lexical", 200), small.limit_of("entity", 5)) == (
        1, 1000, 100,
    )  # fmt: skip
