import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from helix_lab.ablation.command import ablate_command, ablated
from helix_lab.ablation.contributions import Ablated, overall
from helix_lab.ablation.switches import switches_of
from helix_lab.ablation.tables import ablation_markdown, ablation_report
from helix_lab.ablation.timing import Cost
from helix_lab.measures.macro import macro_intervals
from helix_lab.measures.metrics import Scores
from helix_lab.ranking_profiles import profile_folder
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.direct import build_direct, open_direct
from helix_query.profile.files import load_profiles
from helix_query.profile.intent import Intent
from helix_query.profile.overrides import constant, with_constants
from helix_query.profile.profile import RankingProfile
from helix_query.recall.candidate_signals import CandidateSignals
from helix_query.recall.candidates import Candidates, Route
from helix_query.recall.stages.rank import best_first, score_candidates
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.errors import InvalidInputError

PROFILES = load_profiles()
# the default's constants change with every measurement, those of a test must not
HELIX = with_constants(
    PROFILES["helix"],
    {
        "expand.restart": 0.3,
        "rank.weights": constant(PROFILES["helix-reference"], "rank.weights"),
        "rank.quality_weight": 0.03,
        "rank.graph_weight": 0.05,
        "retrieve.fields.section": 0.6,
        # late interaction finds made-up words too
        "rerank.candidates": 0,
    },
)
REFERENCE = PROFILES["helix-reference"]
with profile_folder(None) as folder:
    ALL = list(load_profiles(folder).values())


def off(profile: RankingProfile, name: str) -> RankingProfile:
    """`profile` without the part of this name."""
    return next(switch for switch in switches_of(profile) if switch.name == name).without(profile)


def scored(name: str, whole: list[float], without: list[float], metric: str = "nDCG@10") -> Ablated:
    """A set with one part, `expand`, and one metric."""
    with_it: Scores = {f"q{n}": {metric: value} for n, value in enumerate(whole)}
    without_it: Scores = {f"q{n}": {metric: value} for n, value in enumerate(without)}
    return Ablated(name, with_it, {"expand": without_it}, {})


def test_a_constant_is_read_and_put_by_its_dotted_key() -> None:
    """Only that one changes; a new entry of a mapping may be made; a star puts every entry."""
    why = {"fuse.by_intent.why.dense": 1.0, "fuse.by_intent.why.lexical": 0.5}
    changed = with_constants(HELIX, {"expand.restart": 0.5, **why})
    assert (constant(HELIX, "expand.restart"), constant(changed, "expand.restart")) == (0.3, 0.5)
    assert constant(changed, "fuse.by_intent.why.dense") == 1.0
    assert constant(HELIX, "fuse.by_intent.why.dense") is None
    assert changed.rank == HELIX.rank
    quiet = with_constants(HELIX, {"rank.weights.*.recency": 0.0})
    assert {weights.recency for weights in quiet.rank.weights.values()} == {0.0}
    assert constant(quiet, "rank.weights.*.recency") == 0.0


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("expand.restrat", 0.5, r"expand\.restrat: is not a field here"),
        ("expand.restart", 1.5, r"expand\.restart: must be below 1"),
        ("top_k.deep", 1, r"top_k\.deep: is not a constant"),
    ],
)
def test_a_wrong_constant_is_refused_by_its_key(key: str, value: float, said: str) -> None:
    """A misspelt key, a value out of bounds, a key below a number."""
    with pytest.raises(InvalidInputError, match=said):
        with_constants(HELIX, {key: value})


@pytest.mark.parametrize("profile", ALL, ids=lambda profile: profile.name)
def test_every_switch_leaves_a_valid_profile(profile: RankingProfile) -> None:
    """For every profile: `without` checks the whole of it; names are distinct."""
    switches = switches_of(profile)
    for switch in switches:
        assert isinstance(switch.without(profile), RankingProfile)
    assert len({switch.name for switch in switches}) == len(switches)


def test_a_part_that_is_off_changes_nothing() -> None:
    """Helix blends no cosine into relevance; the reference looks up no words of current values."""
    assert off(HELIX, "cosine") == HELIX
    assert off(REFERENCE, "term coverage") == REFERENCE
    assert off(HELIX, "term coverage") != HELIX


def test_the_bounded_walk_is_tried_instead_of_pagerank_where_the_graph_is_walked() -> None:
    """And conversely: a profile without the stage has no such switch."""
    walking = off(HELIX, "expand pagerank (instead: walk)")
    assert walking.expand.method == "walk"
    assert off(walking, "expand walk (instead: pagerank)") == HELIX
    assert not any(switch.name.startswith("expand ") for switch in switches_of(PROFILES["cems"]))


def test_the_switch_of_graph_mass_fits_the_form_of_ranking() -> None:
    """Multiplicative reads shares, additive reads weights by type."""
    assert constant(off(HELIX, "graph mass"), "rank.graph_weight_multi_hop") == 0.0
    assert off(HELIX, "graph mass").rank.weights == HELIX.rank.weights
    weights = off(REFERENCE, "graph mass").rank.weights
    assert REFERENCE.rank.method == "additive"
    assert {of_type.graph for of_type in weights.values()} == {0.0}


def test_the_only_channel_of_a_profile_has_no_switch() -> None:
    """Nothing would be found without it."""
    alone = with_constants(HELIX, {"retrieve.channels": ("dense",)})
    assert "dense" not in {switch.name for switch in switches_of(alone)}
    assert {"dense", "lexical"} <= {switch.name for switch in switches_of(HELIX)}


@pytest.mark.parametrize("profile", [HELIX, REFERENCE], ids=lambda profile: profile.name)
def test_without_rank_the_order_is_that_of_fusion(profile: RankingProfile) -> None:
    """No trait, no graph, no cosine and no intent moves anybody; with rank they do."""
    candidates = Candidates(
        ordinals=np.array([4, 7, 9]),
        fused=np.array([0.5, 0.9, 0.7]),
        cosine=np.array([0.9, 0.1, 0.2]),
        mass=np.array([0.9, 0.0, 0.1]),
        found_by=np.array([3, 3, 3], np.uint8),
    )
    times = np.array([9, 1, 5], np.int64) * 1_000_000_000_000
    nothing = np.full(3, NO_TIME)
    signals = CandidateSignals(
        type_code=np.array([0, 1, 0], np.uint8),
        touched_at=times,
        occurred_at=times,
        event_start=nothing,
        event_end=nothing,
        salience=np.array([1.0, 0.0, 0.5]),
        confidence=np.array([1.0, 0.0, 0.5]),
        priority=np.array([2.0, 1.0, 1.0]),
        pinned=np.array([True, False, False]),
        project_code=np.zeros(3, np.int64),
        session_code=np.zeros(3, np.int64),
        access_count=np.zeros(3, np.int64),
        token_count=np.full(3, 10),
        about_code=np.zeros(3, np.int64),
        speech_act=np.zeros(3, np.uint8),
        source_code=np.arange(1, 4),
        is_derived=np.zeros(3, bool),
        replaced_at=np.full(3, NO_TIME),
        sequence=np.arange(1, 4),
    )

    def order(constants: RankingProfile) -> list[int]:
        scored = score_candidates(
            candidates,
            signals,
            Route(intents=(Intent.MULTI_HOP, Intent.CURRENT_VALUE)),
            now=datetime(2024, 1, 1, tzinfo=UTC),
            constants=constants.rank,
        )
        return [int(ordinal) for ordinal in candidates.ordinals[best_first(candidates, scored).positions]]

    assert order(off(profile, "rank")) == [7, 9, 4]
    assert order(profile) == [4, 9, 7]


def test_worth_is_with_the_part_minus_without_it() -> None:
    """Two of four questions lose half without the part: it contributes a quarter."""
    found = scored("s", [1.0, 1.0, 1.0, 1.0], [1.0, 1.0, 0.5, 0.5]).worths["expand"]["nDCG@10"]
    assert (found.difference, found.low, found.high) == (0.25, 0.0, 0.5)
    assert found.p == 0.5  # of 16 patterns of signs 8 give a sum of 1 either way


def test_worth_is_positive_where_less_is_better_and_the_part_lessens_it() -> None:
    """Without the part every answer is stale, with it none is."""
    found = scored("s", [0.0, 0.0], [1.0, 1.0], metric="Stale@1").worths["expand"]["Stale@1"]
    assert found.difference == 1.0


def test_overall_counts_every_set_alike() -> None:
    """A set of one question and one of three: (1 + 0) / 2, not 1 / 4."""
    sets = [scored("small", [1.0], [0.0]), scored("large", [0.5] * 3, [0.5] * 3)]
    row = overall(sets)["expand"]["nDCG@10"]
    assert row == {"worth": 50.0, "low": 50.0, "high": 50.0, "sets": 2}


def test_overall_leaves_out_sets_without_the_metric() -> None:
    """Stale is averaged over the sets that have superseded statements."""
    sets = [scored("a", [1.0], [0.0]), scored("b", [0.0], [1.0], metric="Stale@1")]
    assert overall(sets)["expand"]["Stale@1"]["sets"] == 1


def test_each_set_is_resampled_on_its_own() -> None:
    """A set of {0, 1} resamples to 0, 1/2 or 1, the other is always 1: the mean lies in [.5, 1].

    Drawn from one urn the three would reach lower: all zeros, a mean of 0.
    """
    mean, low, high = macro_intervals([np.array([[0.0], [1.0]]), np.array([[1.0]])])
    assert (mean[0], low[0], high[0]) == (0.75, 0.5, 1.0)


def test_a_part_off_already_is_reported_without_figures() -> None:
    """The report names it, the page lists it below the table."""
    switches = switches_of(HELIX)
    one = scored("s", [1.0, 1.0], [0.5, 0.5])
    timed = Ablated(one.name, one.whole, one.without, {"expand": Cost(1.25, 1.0, 1.5)})
    report = ablation_report(HELIX, switches, [timed])
    assert report["sets"]["s"]["cosine"] == {"kind": "signal", "changed": False}
    entry = report["sets"]["s"]["expand"]
    assert entry["nDCG@10"] == {"worth": 50.0, "low": 50.0, "high": 50.0, "p": 0.5}
    assert (entry["ms"], entry["ms_interval"]) == (1.25, [1.0, 1.5])
    page = ablation_markdown(report)
    assert "| expand | stage | **+50.00 [+50.00, +50.00]** | +1.25 [+1.00, +1.50] |" in page
    stages = "fuse weights by intent, fuse rank bonuses, rerank"
    others = "entity, associative, rephrase, cosine, recipe factors"
    assert f"Off already in this profile: {stages}, {others}." in page


@pytest.mark.long
def test_parts_of_a_built_corpus(small_set: EvaluationSet, tmp_path: Path, models_dir: Path) -> None:
    """Made-up words are the lexical channel's: without it less is found, without a boost nothing changes."""
    build_direct(small_set, tmp_path, models_dir)
    chosen = {"lexical", "boost pinned", "cosine"}
    switches = [switch for switch in switches_of(HELIX) if switch.name in chosen]
    ticks: list[int] = []
    with open_direct(small_set, tmp_path, models_dir, PROFILES) as corpus:
        found = ablated(corpus, HELIX, switches, timed=2, advance=lambda: ticks.append(1))
    assert found.without.keys() == found.costs.keys() == {"lexical", "boost pinned"}
    assert len(found.whole) == len(small_set.answerable)
    assert found.worths["lexical"]["MRR@10"].difference > 0.0
    assert found.worths["boost pinned"]["MRR@10"].difference == 0.0
    assert len(ticks) == 4


@pytest.mark.usefixtures("own_home")
def test_the_command_writes_its_report(
    make_set: Callable[..., EvaluationSet], run_command: Callable[..., Result], tmp_path: Path
) -> None:
    """JSON by set, part and metric, all sets together, and a page beside it."""
    make_set("tiny", turns=14, notes=7)
    make_set("other", turns=14, notes=7)
    out = tmp_path / "reports" / "ablation.json"
    arguments = ("--data", tmp_path / "sets", "--sets", "tiny,other", "--timed", 0, "--out", out)
    done = run_command(ablate_command, *arguments)
    assert done.exit_code == 0
    report = json.loads(out.read_text())
    assert report["profile"] == "helix"
    assert list(report["sets"]) == ["tiny", "other"]
    assert report["whole"]["tiny"]["queries"] == 3
    dense = report["sets"]["tiny"]["dense"]
    assert (dense["kind"], dense["changed"], "ms" in dense) == ("channel", True, False)
    assert set(dense["MRR@10"]) == {"worth", "low", "high", "p"}
    assert report["overall"]["dense"]["MRR@10"]["sets"] == 2
    assert "# What each part of helix is worth" in out.with_suffix(".md").read_text()


def test_the_command_refuses_the_name_of_its_page(tmp_path: Path) -> None:
    """--out is the JSON; the Markdown beside it would overwrite it."""
    with pytest.raises(InvalidInputError, match=r"report\.md is written beside the report"):
        ablate_command(data=tmp_path, out=tmp_path / "report.md")
