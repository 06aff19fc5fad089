from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from helix_memory.vocabulary.memory_types import MEMORY_TYPES
from helix_query.profile.files import load_profiles
from helix_query.profile.intent import Intent
from helix_query.profile.sections.ranking import Boosts, Rank
from helix_query.recall.candidate_signals import CandidateSignals
from helix_query.recall.candidates import Candidates, Ranked, RelatedPairs, Route, Window
from helix_query.recall.stages.base_score import additive, boost_factors, inside, multiplicative, recency
from helix_query.recall.stages.normalise import normalise
from helix_query.recall.stages.rank import best_first, score_candidates
from helix_shared.artifacts.signals.columns import NO_TIME
from helix_shared.artifacts.signals.salience import salience_moves

NOW = datetime(2026, 3, 1, tzinfo=UTC)
PROFILES = load_profiles()


def at(moment: datetime) -> int:
    """Microseconds since 1970."""
    return int(moment.timestamp()) * 1_000_000


def ranked_of(candidates: Candidates, signals: CandidateSignals, route: Route, **constants: Any) -> Ranked:
    """The order of stage 6 at `NOW`."""
    return best_first(candidates, score_candidates(candidates, signals, route, now=NOW, **constants))


def signals_of(count: int, **columns: Any) -> CandidateSignals:
    """Plain candidates, some columns given."""
    defaults: dict[str, Any] = {
        "type_code": np.zeros(count, np.uint8),
        "touched_at": np.full(count, at(NOW)),
        "occurred_at": np.full(count, at(NOW)),
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


def candidates_of(fused: list[float], cosine: list[float], mass: list[float]) -> Candidates:
    """Candidates of these columns."""
    count = len(fused)
    return Candidates(
        np.arange(count, dtype=np.int64),
        np.array(fused),
        np.array(cosine),
        np.array(mass),
        np.ones(count, np.uint8),
    )


def test_signals_are_normalised_over_the_pool() -> None:
    """Least becomes 0, most 1; a constant signal says nothing and becomes 0."""
    assert normalise(np.array([2.0, 4.0, 3.0])).tolist() == [0.0, 1.0, 0.5]
    assert normalise(np.array([7.0, 7.0])).tolist() == [0.0, 0.0]
    assert normalise(np.empty(0)).tolist() == []


def test_every_type_is_weighed_by_its_own_row() -> None:
    """With all signals alike but a full sim, the additive score is the type's sim weight."""
    candidates, signals = (
        candidates_of([1.0] * 5, [1.0] * 5, [0.0] * 5),
        signals_of(5, type_code=np.arange(5, dtype=np.uint8)),
    )
    constants = PROFILES["helix-reference"].rank
    ranked = ranked_of(candidates, signals, Route(), constants=constants)
    scores = dict(zip((MEMORY_TYPES[p] for p in ranked.positions), ranked.scores.tolist(), strict=True))
    expected = {"episodic": 0.35, "semantic": 0.40, "procedural": 0.45, "decision": 0.35, "code": 0.50}
    assert scores == pytest.approx(expected)


def test_recency_fades_per_hour_from_last_access() -> None:
    """.995 ** hours: 1 now, .995 after an hour, .886 after a day; the future counts as now."""
    touched = np.array(
        [at(NOW), at(NOW - timedelta(hours=1)), at(NOW - timedelta(days=1)), at(NOW + timedelta(days=1))]
    )
    faded = recency(touched, now=NOW, per_hour=0.995)
    assert faded.tolist() == pytest.approx([1.0, 0.995, 0.995**24, 1.0])


def test_reference_blends_by_the_table_of_the_type() -> None:
    """Episodic .35 .30 .15 .10 .10 against code .50 .15 .10 .10 .15, all signals 1 or 0."""
    signals = {
        "sim": np.array([1.0, 1.0]),
        "recency": np.array([1.0, 1.0]),
        "salience": np.array([0.0, 0.0]),
        "confidence": np.array([1.0, 1.0]),
        "graph": np.array([0.5, 1.0]),
    }
    weights = {
        "sim": np.array([0.35, 0.50]),
        "recency": np.array([0.30, 0.15]),
        "salience": np.array([0.15, 0.10]),
        "confidence": np.array([0.10, 0.10]),
        "graph": np.array([0.10, 0.15]),
    }
    assert additive(signals, weights).tolist() == pytest.approx([0.80, 0.90])


def test_additive_rank_by_hand() -> None:
    """Two episodic memories: fused 1/0, cosine 0/1, recency 1/0 -> .35 x .5 + .30 against .35 x .5."""
    ranked = ranked_of(
        candidates_of([0.9, 0.1], [0.2, 0.6], [0.0, 0.0]),
        signals_of(2, touched_at=[at(NOW), at(NOW - timedelta(days=9))]),
        Route(),
        constants=PROFILES["helix-reference"].rank,
    )
    assert ranked.positions.tolist() == [0, 1]
    assert ranked.scores.tolist() == pytest.approx([0.475, 0.175])


def test_quality_multiplies_relevance_by_little() -> None:
    """Relevance .9 x .8 + .1 x .5 = .77; quality (.3 x 1 + .1 x .5) / .55 = .636364; quality_weight .1."""
    signals = {
        "sim": np.array([0.8]),
        "graph": np.array([0.5]),
        "recency": np.array([1.0]),
        "salience": np.array([0.0]),
        "confidence": np.array([0.5]),
    }
    weights = {
        name: np.array([value]) for name, value in (("recency", 0.3), ("salience", 0.15), ("confidence", 0.1))
    }
    scores = multiplicative(signals, weights, graph_weight=0.1, quality_weight=0.1)
    assert scores.tolist() == pytest.approx([0.77 * (1 + 0.1 * 0.35 / 0.55)])


def test_graph_leads_for_multi_hop_questions_only() -> None:
    """The same candidates: mass decides when the route says multi_hop, similarity otherwise."""
    candidates = candidates_of([1.0, 0.4], [0.9, 0.3], [0.0, 1.0])
    common: dict[str, Any] = {"constants": PROFILES["helix"].rank}
    plain = ranked_of(candidates, signals_of(2), Route(), **common)
    hops = ranked_of(candidates, signals_of(2), Route(intents=(Intent.MULTI_HOP,)), **common)
    assert plain.positions.tolist() == [0, 1]
    assert hops.positions.tolist() == [1, 0]


def test_without_a_graph_similarity_ranks_multi_hop_questions_too() -> None:
    """Dense mode walks no graph: without mass, similarity gives the order."""
    common: dict[str, Any] = {"constants": PROFILES["helix"].rank}
    candidates = candidates_of([0.1, 0.9, 0.5], [0.1, 0.9, 0.5], [0.0, 0.0, 0.0])
    ranked = ranked_of(candidates, signals_of(3), Route(intents=(Intent.MULTI_HOP,)), **common)
    assert ranked.positions.tolist() == [1, 2, 0]
    assert ranked.scores[0] > ranked.scores[1] > ranked.scores[2]


def test_boosts_that_are_on_have_a_factor_each() -> None:
    """Pinned 1.1, priority 2 -> 1.2, same project 1.3; the other candidate keeps 1."""
    factors = boost_factors(
        signals_of(2, pinned=[True, False], priority=[2.0, 1.0], project_code=[7, 8]),
        Route(),
        Boosts(pinned=0.1, priority=0.2, project=0.3),
        project_code=7,
    )
    assert {name: values.tolist() for name, values in factors.items()} == {
        "pinned": [1.1, 1.0],
        "priority": [1.2, 1.0],
        "project": [1.3, 1.0],
    }


def test_who_asks_when_gets_what_tells_a_time() -> None:
    """The second memory tells none; another question asks for none."""
    signals = signals_of(2, event_start=[at(NOW), NO_TIME])
    factors = boost_factors(signals, Route(intents=(Intent.WHEN,)), Boosts(dated=0.25), project_code=None)
    assert {name: values.tolist() for name, values in factors.items()} == {"dated": [1.25, 1.0]}
    assert boost_factors(signals, Route(), Boosts(dated=0.25), project_code=None) == {}


def test_a_window_prefers_what_happened_or_is_spoken_of_in_it() -> None:
    """Occurred inside; event inside; event overlapping its start; before it; after its open end."""
    window = Window(NOW - timedelta(days=7), NOW)
    day = timedelta(days=1)
    found = inside(
        signals_of(
            5,
            occurred_at=[at(NOW - day), at(NOW - 30 * day), at(NOW - 30 * day), at(NOW - 30 * day), at(NOW)],
            event_start=[NO_TIME, at(NOW - 2 * day), at(NOW - 9 * day), at(NOW - 9 * day), at(NOW)],
            event_end=[NO_TIME, NO_TIME, at(NOW - 3 * day), at(NOW - 8 * day), NO_TIME],
        ),
        window,
    )
    assert found.tolist() == [True, True, True, False, False]


def test_current_value_prefers_the_later_of_two_statements() -> None:
    """Both hold all words, the old one is more similar: asked for the current value the new one leads."""
    candidates = replace(
        candidates_of([1.0, 0.97, 0.0], [0.9, 0.88, 0.1], [0.0] * 3), coverage=np.array([1.0, 1.0, 0.0])
    )
    signals = signals_of(3, occurred_at=[at(NOW - timedelta(days=30)), at(NOW - timedelta(days=1)), at(NOW)])
    common: dict[str, Any] = {"constants": PROFILES["helix"].rank}
    assert ranked_of(candidates, signals, Route(), **common).positions.tolist() == [0, 1, 2]
    current = ranked_of(candidates, signals, Route(intents=(Intent.CURRENT_VALUE,)), **common)
    assert current.positions.tolist() == [1, 0, 2]


def test_a_phrase_match_goes_before_all_others() -> None:
    """However low its score; of two the better comes first."""
    candidates = replace(
        candidates_of([1.0, 0.9, 0.1, 0.0], [0.9, 0.8, 0.1, 0.0], [0.0] * 4),
        phrase_match=np.array([False, False, True, True]),
    )
    ranked = ranked_of(candidates, signals_of(4), Route(), constants=PROFILES["helix"].rank)
    assert ranked.positions.tolist() == [2, 3, 0, 1]
    assert ranked.scores[2:].tolist() == sorted(ranked.scores[2:].tolist(), reverse=True)
    strict = PROFILES["engram"].rank
    ranked = ranked_of(candidates, signals_of(4), Route(), constants=strict)
    without = ranked_of(replace(candidates, phrase_match=None), signals_of(4), Route(), constants=strict)
    assert ranked.positions.tolist()[:2] == [2, 3]
    assert set(without.positions.tolist()) <= set(ranked.positions.tolist())
    nobody = replace(candidates, phrase_match=np.zeros(4, bool))
    ranked = ranked_of(nobody, signals_of(4), Route(), constants=PROFILES["helix"].rank)
    assert ranked.positions.tolist() == [0, 1, 2, 3]


def test_a_definition_goes_before_all_others() -> None:
    """However low its score, and where a recipe would leave it out."""
    candidates = replace(
        candidates_of([1.0, 0.9, 0.1, 0.0], [0.9, 0.8, 0.1, 0.0], [0.0] * 4),
        definition=np.array([False, False, False, True]),
    )
    for name in ("helix", "engram"):
        ranked = ranked_of(candidates, signals_of(4), Route(), constants=PROFILES[name].rank)
        assert ranked.positions.tolist()[0] == 3


def test_equal_scores_go_by_the_log() -> None:
    """An answer depends neither on the order in which channels answered nor on that of a rebuild."""
    candidates = Candidates(
        np.array([9, 4, 5], np.int64), np.ones(3), np.ones(3), np.zeros(3), np.ones(3, np.uint8)
    )
    signals = signals_of(3, sequence=[11, 12, 11])
    ranked = ranked_of(candidates, signals, Route(), constants=PROFILES["helix"].rank)
    assert candidates.ordinals[ranked.positions].tolist() == [5, 9, 4]


def test_an_unknown_form_is_refused() -> None:
    """Forms are named in the profile model."""
    with pytest.raises(ValueError, match="method"):
        Rank(method="geometric", weights=PROFILES["helix"].rank.weights)  # type: ignore[arg-type] # that is the test


def test_memories_of_one_hour_are_equally_recent() -> None:
    """A bulk import has no order of its own: milliseconds must not be stretched to the whole range."""
    faded = recency(np.array([at(NOW), at(NOW) - 900_000_000]), now=NOW, per_hour=0.995)
    assert np.array_equal(normalise(faded, least_span=0.005), [0.0, 0.0])
    faded = recency(np.array([at(NOW), at(NOW) - 7_200_000_000]), now=NOW, per_hour=0.995)
    assert np.array_equal(normalise(faded, least_span=0.005), [1.0, 0.0])


@pytest.mark.parametrize("quality_weight", [0.0, 0.2])
def test_repeated_serving_never_lifts_an_irrelevant_memory_above_relevant_ones(
    quality_weight: float,
) -> None:
    """Serving moves salience by at most .05 and makes a memory recent; quality only reorders near equals."""
    rank = PROFILES["helix"].rank
    weights = PROFILES["helix-reference"].rank.weights
    constants = rank.model_copy(update={"quality_weight": quality_weight, "weights": weights})
    served = 0.5 + float(salience_moves(*(np.array([n]) for n in (10**9, 0, 0)))[0])
    candidates = candidates_of([0.9, 0.5, 0.1], [0.8, 0.5, 0.2], [0.0, 0.0, 0.0])
    signals = signals_of(
        3,
        salience=[0.5, 0.5, served],
        touched_at=[at(NOW - timedelta(days=90))] * 2 + [at(NOW)],
        access_count=[0, 0, 10**9],
    )
    ranked = ranked_of(candidates, signals, Route(), constants=constants)
    assert ranked.positions.tolist() == [0, 1, 2]


@pytest.mark.parametrize(("probability", "first"), [(0.0, 0), (0.1, 0), (0.6, 2)])
def test_what_was_probably_replaced_is_no_statement_of_the_value(probability: float, first: int) -> None:
    """Candidates 0 and 1 have the words of the question, 2 replaced 0: "we moved to Gothenburg"."""
    nothing = np.empty(0, np.int64)
    links = RelatedPairs(nothing, nothing, np.array([2]), np.array([0]), np.array([probability]))
    candidates = replace(
        candidates_of([1.0, 0.1, 0.5], [0.9, 0.2, 0.5], [0.0] * 3),
        coverage=np.array([1.0, 0.2, 0.3]),
        related=links,
    )
    signals = signals_of(3, occurred_at=[at(NOW - timedelta(days=days)) for days in (9, 8, 1)])
    ranked = ranked_of(
        candidates, signals, Route(intents=(Intent.CURRENT_VALUE,)), constants=PROFILES["helix"].rank
    )
    assert ranked.positions[0] == first
