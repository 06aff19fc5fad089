from pathlib import Path

import pytest
from pydantic import ValidationError

from helix_query.profile.files import load_profiles
from helix_query.profile.intent import Intent
from helix_query.profile.profile import RankingProfile
from helix_query.profile.sections.fusion import Fuse
from helix_query.profile.sections.ranking import Rank, TypeWeights
from helix_shared.errors import InvalidInputError

CHANNELS_ALIKE = dict.fromkeys(("dense", "lexical", "entity", "associative"), 1.0)


def written(folder: Path, text: str, *, name: str = "mine") -> Path:
    """`folder` with one profile."""
    (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return folder


def mine(extra: str = "", *, name: str = "mine") -> str:
    """A small valid profile, with more keys at its top."""
    return f'name = "{name}"\ndescription = "test"\n{extra}\n'


def test_five_profiles_are_built_in() -> None:
    """The default, the default with a late-interaction model, and three published recipes."""
    profiles = load_profiles()
    assert set(profiles) == {"helix", "colbert", "helix-reference", "cems", "engram"}
    assert (profiles["helix"].top_k, profiles["helix"].token_budget) == (10, 2000)


def test_the_reference_has_the_published_constants() -> None:
    """RRF k=60 with equal weights and no bonuses, top 100 a channel, MMR .5, 2,000 tokens."""
    reference = load_profiles()["helix-reference"]
    assert (reference.fuse.method, reference.fuse.k, reference.fuse.rank_bonuses) == ("rrf", 60, ())
    assert reference.fuse.weights_for(()) == CHANNELS_ALIKE
    assert reference.retrieve.limits == dict.fromkeys(CHANNELS_ALIKE, 100)
    assert (reference.diversify.mmr_lambda, reference.diversify.near_duplicate) == (0.5, 0.8)
    assert (reference.rank.method, reference.rank.recency_per_hour) == ("additive", 0.995)
    assert (reference.expand.restart, reference.expand.epsilon, reference.expand.hub_cap) == (0.3, 1e-5, 100)
    assert reference.token_budget == 2000
    assert (reference.retrieve.auto_min_score, reference.retrieve.auto_min_lead) == (0.8, 0.3)


def test_the_reference_has_the_published_weights() -> None:
    """sim, recency, salience, confidence, graph by memory type."""
    weights = load_profiles()["helix-reference"].rank.weights
    assert {name: tuple(row.model_dump().values()) for name, row in weights.items()} == {
        "episodic": (0.35, 0.30, 0.15, 0.10, 0.10),
        "semantic": (0.40, 0.05, 0.20, 0.20, 0.15),
        "procedural": (0.45, 0.10, 0.25, 0.15, 0.05),
        "decision": (0.35, 0.10, 0.25, 0.25, 0.05),
        "code": (0.50, 0.15, 0.10, 0.10, 0.15),
    }


def test_weights_name_every_memory_type_or_none() -> None:
    """Without weights a type has sim alone; a type that was forgotten is named."""
    assert Rank().weights_of("semantic") == TypeWeights(
        sim=1.0, recency=0.0, salience=0.0, confidence=0.0, graph=0.0
    )
    with pytest.raises(ValidationError, match="weights lacks episodic, semantic, procedural, decision"):
        Rank(weights={"code": TypeWeights(sim=0.5, graph=0.5)})


def test_an_intent_may_have_its_own_weights() -> None:
    """The first entry that the query has applies, else the plain weights."""
    fuse = Fuse(
        weights={"dense": 0.3, "lexical": 0.7},
        by_intent={Intent.EXACT_LOOKUP: {"dense": 0.2, "lexical": 0.8}},
    )
    assert fuse.weights_for((Intent.WHAT,)) == CHANNELS_ALIKE | {"dense": 0.3, "lexical": 0.7}
    exact = fuse.weights_for((Intent.WHAT, Intent.EXACT_LOOKUP))
    assert exact == CHANNELS_ALIKE | {"dense": 0.2, "lexical": 0.8}


def test_an_intent_may_have_its_own_field_weights() -> None:
    """Context counts less for exact_lookup."""
    retrieve = load_profiles()["helix"].retrieve
    assert retrieve.fields_for((Intent.WHAT,)) == retrieve.fields
    assert retrieve.fields_for((Intent.WHAT, Intent.EXACT_LOOKUP)).context < retrieve.fields.context


def test_a_profile_of_the_operator_is_loaded_with_the_built_in_ones(tmp_path: Path) -> None:
    """By its name."""
    profile = load_profiles(written(tmp_path, mine("top_k = 3")))["mine"]
    assert isinstance(profile, RankingProfile)
    assert profile.top_k == 3


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("name = ", "TOML"),
        (mine("top_q = 3"), "top_q"),
        (mine("top_k = 0"), "top_k"),
        (mine("[fuse]\nk = 0"), "fuse.k"),
        (mine('[expand]\nmethod = "stroll"'), "expand.method: must be 'pagerank' or 'walk'"),
        (mine("[expand]\nhops = 3"), "expand.hops: must be at most 2"),
        (mine("[expand]\nedge_budget = 99"), "expand.edge_budget: must be at least 100"),
        (mine("[fuse]\nweights = { dense = 0.0, lexical = 0.0 }"), "both be 0"),
        (mine("[fuse.by_intent.whence]\ndense = 1.0\nlexical = 1.0"), "by_intent"),
        (mine(name="other"), "name"),
        (mine("[rank]\nquality_weight = 0.1"), "rank: a quality_weight above 0 needs weights"),
    ],
)
def test_a_wrong_profile_is_refused_with_file_and_key(tmp_path: Path, text: str, error: str) -> None:
    """An unknown key is an error as well."""
    with pytest.raises(InvalidInputError) as caught:
        load_profiles(written(tmp_path, text))
    assert "mine.toml" in str(caught.value)
    assert error in str(caught.value)


def test_a_missing_folder_of_profiles_is_refused(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(InvalidInputError):
        load_profiles(tmp_path / "absent")


def test_a_profile_may_extend_one_of_the_package(tmp_path: Path) -> None:
    """What it does not state is that of the other, inside of tables, too."""
    base = load_profiles()["helix"]
    made = load_profiles(written(tmp_path, mine('extends = "helix"\n[rerank]\nweight = 2.0')))["mine"]
    changes = {"name": "mine", "description": "test", "rerank": base.rerank.model_dump() | {"weight": 2.0}}
    assert made.model_dump() == base.model_dump() | changes
    colbert = load_profiles()["colbert"]
    changes = {"late_interaction_model": True, "weight": 1.0}
    assert colbert.rerank.model_dump() == base.rerank.model_dump() | changes
    assert colbert.model_dump(exclude={"name", "description", "rerank"}) == base.model_dump(
        exclude={"name", "description", "rerank"}
    )


@pytest.mark.parametrize("name", ['"nobody"', '"colbert"', '"mine"', "7"])
def test_only_whole_profiles_of_the_package_are_extended(tmp_path: Path, name: str) -> None:
    """The error names the file, the key and what may stand there."""
    words = r"mine\.toml: extends: must be one of cems, engram, helix, helix-reference, is"
    with pytest.raises(InvalidInputError, match=words):
        load_profiles(written(tmp_path, mine(f"extends = {name}")))
