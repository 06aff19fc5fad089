import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from pydantic import ValidationError

from helix_query.profile.files import load_profiles
from helix_query.profile.intent import Intent
from helix_query.profile.sections.abstention import Abstain, AnswerModel, MemoryModel
from helix_query.profile.sections.section import DENSE, LEXICAL
from helix_query.recall.candidates import GRAPH, Candidates, Ranking, Retrieved, bit_of
from helix_query.recall.result import Features, RecalledRow
from helix_query.recall.stages.abstain import (
    LOG_SIZE,
    answer_features,
    estimate_relevance,
    logistic,
    missing_value,
)
from helix_shared.artifacts.hits import Hits
from helix_shared.artifacts.lexicon.analysis import idf

DENSE_BIT, LEXICAL_BIT, GRAPH_BIT = bit_of(DENSE), bit_of(LEXICAL), bit_of(GRAPH)


def hits(pairs: Sequence[tuple[int, float]]) -> Hits:
    """A list of ordinals and scores, best first."""
    ordinals = np.array([ordinal for ordinal, _ in pairs], np.int64)
    return Hits(ordinals, np.array([score for _, score in pairs], np.float32))


CANDIDATES = Candidates(
    ordinals=np.array([30, 10, 20], np.int64),
    fused=np.array([1.0, 0.5, 0.1]),
    cosine=np.array([0.7, 0.4, 0.2]),
    mass=np.array([0.5, 0.2, 0.1]),
    found_by=np.array([DENSE_BIT | LEXICAL_BIT, DENSE_BIT, GRAPH_BIT], np.uint8),
)
RETRIEVED = Retrieved(
    (Ranking(DENSE, hits([(30, 0.7), (10, 0.4)])), Ranking(LEXICAL, hits([(40, 9.0), (30, 6.0)])))
)


def found(
    retrieved: Retrieved = RETRIEVED, *, rarities: Sequence[float] = (3.0, 1.0), served_before: int = 0
) -> Features | None:
    """Features of an answer of ordinals 30 and 20 with final scores 2 and .5."""
    positions, scores = np.array([0, 2], np.int64), np.array([2.0, 0.5])
    return answer_features(
        CANDIDATES,
        positions,
        scores,
        retrieved,
        rarities=rarities,
        coverage=0.5,
        value_missing=1.0,
        intents=(Intent.WHAT, Intent.MULTI_HOP),
        visible=999,
        served_before=served_before,
    )


def test_features_of_a_memory_by_hand() -> None:
    """BM25 6 against words worth 4: 6/10; the second has no BM25, a quarter of the score, rank 2."""
    features = found()
    assert features is not None
    assert {name: values.tolist() for name, values in features.memories.items()} == {
        "cosine": [0.7, 0.2],
        "lexical": [0.6, 0.0],
        "relative_score": [1.0, 0.25],
        "reciprocal_rank": [1.0, 0.5],
        "mass": [0.5, 0.1],
        "size": [math.log(1_000) / LOG_SIZE] * 2,
        "in_both_channels": [1.0, 0.0],
    }


def test_features_of_an_answer_by_hand() -> None:
    """Greatest of each; lead 1 - .5/2; one of the first two of each channel is shared; ln 3 for two words."""
    features = found()
    assert features is not None
    assert features.answer == pytest.approx(
        {
            "cosine": 0.7, "lexical": 0.6, "mass": 0.5, "lead": 0.75, "overlap": 0.5, "words": math.log(3),
            "size": math.log(1_000) / LOG_SIZE, "coverage": 0.5, "value_missing": 1.0,
            "multi_hop": 1.0, "current_value": 0.0, "exact_lookup": 0.0,
        }
    )  # fmt: skip


def test_what_the_caller_has_counts_in_the_ranks() -> None:
    """Behind nine memories served already the two are tenth and eleventh."""
    features = found(served_before=9)
    assert features is not None
    assert features.memories["reciprocal_rank"].tolist() == [1 / 10, 1 / 11]


def test_the_rest_of_an_answer_is_no_likelier_than_its_likeliest_memory() -> None:
    """Without what was served the answer is judged by the best memory that is left."""
    features = found()
    assert features is not None
    whole = estimate_relevance(features, memory=MEMORY, answer=ANSWER, threshold=0.0)
    rest = estimate_relevance(features, memory=MEMORY, answer=ANSWER, threshold=0.0, displaced=True)
    assert whole.memories is not None
    assert whole.answer is not None
    assert rest.answer == whole.memories.max() <= whole.answer


def test_eight_words_are_enough_for_a_full_match() -> None:
    """Twenty words worth 1 each: BM25 6 is 6 / (6 + 8)."""
    features = found(rarities=[1.0] * 20)
    assert features is not None
    assert features.memories["lexical"][0] == pytest.approx(6 / 14)


def test_a_question_without_words_has_no_lexical_share() -> None:
    """Nothing to divide by, and nothing that could be found."""
    features = found(rarities=())
    assert features is not None
    assert features.memories["lexical"].tolist() == [0.0, 0.0]


@pytest.mark.parametrize("missing", [DENSE, LEXICAL])
def test_no_probability_is_given_if_a_channel_is_missing(missing: str) -> None:
    """The models were fitted to both; a list from other words does not replace the question's own."""
    kept = [ranking for ranking in RETRIEVED.rankings if ranking.channel != missing]
    other = Ranking(missing, RETRIEVED.rankings[0].hits, words="other words")
    assert found(Retrieved((*kept, other))) is None


def test_the_rarity_of_a_word_by_hand() -> None:
    """Of 9 texts 2 hold it: ln(1 + 7.5/2.5) = ln 4; a word in no text: ln(1 + 9.5/.5) = ln 20."""
    assert idf(2, 9) == pytest.approx(math.log(4))
    assert idf(0, 9) == pytest.approx(math.log(20))


def test_the_logistic_model_by_hand() -> None:
    """-2 + 4 x .7 + 1 x .6 = 1.4: 1/(1 + e^-1.4) = .80218."""
    model = AnswerModel(intercept=-2.0, coefficients={"cosine": 4.0, "lexical": 1.0})
    assert float(logistic({"cosine": 0.7, "lexical": 0.6}, model)) == pytest.approx(0.8021838886)


def test_far_out_log_odds_do_not_overflow() -> None:
    """1000 and -1000 are certainty, not an error."""
    model = AnswerModel(intercept=0.0, coefficients={"cosine": 1000.0})
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        assert float(logistic({"cosine": 1.0}, model)) == 1.0
        assert float(logistic({"cosine": -0.7}, model)) == pytest.approx(math.exp(-700.0))


MEMORY = MemoryModel(intercept=-3.0, coefficients={"cosine": 5.0})
ANSWER = AnswerModel(intercept=-1.0, coefficients={"cosine": 2.0})
"""Of .7: -1 + 1.4 = .4, so .59869."""


def test_below_the_threshold_it_abstains_and_says_why() -> None:
    """.59869 is below .6; each memory keeps its probability."""
    features = found()
    assert features is not None
    belief = estimate_relevance(features, memory=MEMORY, answer=ANSWER, threshold=0.6)
    assert belief.abstained
    assert belief.answer == pytest.approx(0.59868766)
    assert belief.reason == "relevance 0.599 is below the threshold 0.600 of the ranking profile"
    assert belief.memories is not None
    # -3 + 5 x .7 = .5 is .62246, held to the answer's .59869; -3 + 5 x .2 = -2 is .11920
    assert belief.memories.tolist() == pytest.approx([0.59868766, 0.11920292])


def test_at_the_threshold_it_answers() -> None:
    """Only memories below it are held back."""
    features = found()
    assert features is not None
    exact = estimate_relevance(features, memory=None, answer=ANSWER, threshold=0.0).answer
    assert exact is not None
    belief = estimate_relevance(features, memory=None, answer=ANSWER, threshold=exact)
    assert (belief.abstained, belief.reason, belief.memories) == (False, "", None)


def recalled(text: str, *, speaker: str = "") -> RecalledRow:
    """A memory of an answer with this text."""
    return RecalledRow({"text": text, "speaker": speaker}, (), 1.0, 0.5, ())


@pytest.mark.parametrize(
    ("question", "texts", "coverage", "expected"),
    [
        ("What is the plumber's phone number?", ["The plumber comes on Friday."], 0.6, 1.0),
        ("What is the plumber's phone number?", ["The plumber comes on Friday."], 0.15, 0.5),
        ("What is the plumber's phone number?", ["Ring the plumber: 0171 555 01 23."], 0.6, 0.0),
        ("What is the plumber's phone number?", ["No idea.", "Plumber 0171 555 01 23"], 0.6, 0.0),
        ("Why did the plumber come?", ["The plumber comes on Friday."], 0.9, 0.0),
        ("What is the plumber's phone number?", [], 0.0, 0.0),
    ],
)
def test_a_value_that_no_memory_states_is_missing(
    question: str, texts: list[str], coverage: float, expected: float
) -> None:
    """As sure as the memories share the words of the question; a question for no value misses none."""
    assert missing_value(question, [recalled(text) for text in texts], coverage) == pytest.approx(expected)


def test_nothing_found_has_probability_0() -> None:
    """The intercept has no effect."""
    none = np.empty(0, np.int64)
    features = answer_features(
        CANDIDATES,
        none,
        np.empty(0),
        RETRIEVED,
        rarities=(),
        coverage=0.0,
        value_missing=0.0,
        intents=(),
        visible=0,
    )
    assert features is not None
    belief = estimate_relevance(features, memory=MEMORY, answer=ANSWER, threshold=0.1)
    assert (belief.answer, belief.abstained, belief.reason) == (0.0, True, "no memory was found")
    assert belief.memories is not None
    assert belief.memories.tolist() == []
    assert not estimate_relevance(features, memory=MEMORY, answer=ANSWER, threshold=0.0).abstained


def test_a_threshold_without_a_model_is_refused() -> None:
    """It would hold back nothing, or everything."""
    with pytest.raises(ValidationError, match=r"needs the model abstain\.answer"):
        Abstain(threshold=0.1)


def test_an_unknown_feature_is_refused() -> None:
    """A misspelt coefficient must not be ignored."""
    with pytest.raises(ValidationError, match="cosin"):
        AnswerModel.model_validate({"coefficients": {"cosin": 1.0}})


def test_published_recipes_never_abstain() -> None:
    """Their answers are what was published; only the default is calibrated."""
    profiles = load_profiles()
    silent = {name for name, profile in profiles.items() if profile.abstain == Abstain()}
    assert silent == {"helix-reference", "cems", "engram"}
    assert 0 < profiles["helix"].abstain.threshold < 0.5


def test_a_profile_without_the_part_is_neutral(tmp_path: Path) -> None:
    """An operator's file of before keeps its meaning."""
    (tmp_path / "mine.toml").write_text('name = "mine"\ndescription = "t"\n')
    assert load_profiles(tmp_path)["mine"].abstain == Abstain(threshold=0.0, memory=None, answer=None)
