"""An answer that is too unlikely comes back and is not packed; everything else is as before."""

from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from helix_lab.profile_text import with_table
from helix_memory.recall.v1 import recall_pb2
from helix_query.profile.sections.abstention import Abstain, AnswerModel, MemoryModel

pytestmark = pytest.mark.integration

STRICT = Abstain(
    threshold=0.5,
    memory=MemoryModel(intercept=-5.0, coefficients={"cosine": 8.0, "lexical": 4.0}),
    answer=AnswerModel(intercept=-5.0, coefficients={"cosine": 10.0, "lexical": 5.0}),
)
"""Log odds 0 are a cosine of .4 with a lexical share of .2, or of .5 with none."""
ANSWERABLE = "What did Caroline plant in the garden?"
UNANSWERABLE = "Which orchestra recorded the symphony about glaciers?"


@pytest.fixture(scope="module")
def strict(serve: Any, answering: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A service on the corpus of `answering` whose profile `strict` is `helix` with models of its own."""
    helix = (resources.files("helix_query") / "profile" / "helix.toml").read_text(encoding="utf-8")
    text = with_table(helix.replace('name = "helix"', 'name = "strict"'), "abstain", STRICT, comment="test")
    folder = tmp_path_factory.mktemp("strict")
    (folder / "profiles").mkdir()
    (folder / "profiles" / "strict.toml").write_text(text, encoding="utf-8")
    data = answering[0].log.parent / "data"
    service = serve(folder, data=data, HELIX_QUERY_PROFILES_DIR=str(folder / "profiles"))
    yield service
    assert service.stop() == 0


def test_an_unanswerable_question_is_not_packed(strict: Any) -> None:
    """The memories come back ranked, the context is empty, and the reply says why."""
    reply = strict.recall(UNANSWERABLE, ranking_profile="strict", explain=True)
    assert reply.abstained
    assert reply.HasField("relevance")
    assert 0 < reply.relevance < 0.5
    assert f"relevance {reply.relevance:.3f} is below the threshold 0.500" in reply.abstained_because
    assert len(reply.memories) == 10
    assert not [found for found in reply.memories if found.packed]
    assert (reply.context.text, list(reply.context.memory_ids), reply.context.tokens) == ("", [], 0)
    losses = {one.rank: one.loss for one in reply.explanation.candidates if one.rank}
    assert losses == dict.fromkeys(range(1, 11), recall_pb2.LOSS_ABSTAINED)


def test_an_answerable_question_is_packed(strict: Any) -> None:
    """Above the threshold nothing is held back; each memory has its probability, none above the answer's."""
    reply = strict.recall(ANSWERABLE, ranking_profile="strict")
    assert (reply.abstained, reply.abstained_because) == (False, "")
    assert reply.relevance > 0.5
    assert reply.context.text
    best = reply.memories[0]
    assert best.memory.text == "Caroline planted tomatoes in the garden."
    assert max(found.relevance for found in reply.memories) == best.relevance <= reply.relevance
    assert [stage.stage for stage in reply.stages][-2:] == ["abstain", "pack"]


def test_nothing_unrelated_takes_the_place_of_what_was_served(strict: Any) -> None:
    """The question asked again gets nothing; with the best memory left, that is packed."""
    first = strict.recall(ANSWERABLE)
    assert not first.abstained
    ids = [found.memory.memory_id for found in first.memories]
    again = strict.recall(ANSWERABLE, already_served=ids)
    assert (again.abstained, again.context.text) == (True, "")
    assert again.memories
    assert again.relevance == max(found.relevance for found in again.memories)
    assert f"of what was not served already, {again.relevance:.3f} is below" in again.abstained_because
    rest = strict.recall(ANSWERABLE, already_served=ids[1:])
    assert not rest.abstained
    assert ids[0] in rest.context.memory_ids


def test_an_empty_memory_abstains(strict: Any) -> None:
    """A caller without memories is told so, whatever the profile; one who finds nothing is told that."""
    for profile in ("strict", "helix-reference"):
        reply = strict.recall(ANSWERABLE, tenant="nobody", ranking_profile=profile)
        assert (reply.relevance, reply.abstained) == (0.0, True), profile
        assert reply.abstained_because == "nothing is stored yet for this tenant and user"


def test_what_is_not_calibrated_says_nothing(strict: Any) -> None:
    """A profile without models, and a mode without one of the two channels: packed as ever."""
    for asked in (
        {"ranking_profile": "helix-reference"},
        {"ranking_profile": "strict", "mode": recall_pb2.MODE_DENSE},
    ):
        reply = strict.recall(UNANSWERABLE, **asked)
        assert not reply.HasField("relevance")
        assert not reply.memories[0].HasField("relevance")
        assert not reply.abstained
        assert reply.context.text


def test_why_not_names_the_threshold_that_would_pack_it(strict: Any) -> None:
    """Lowered to the answer's own probability, not below."""
    asked = strict.recall(UNANSWERABLE, ranking_profile="strict")
    request = recall_pb2.WhyNotRequest(
        recall=recall_pb2.RecallRequest(
            scope={"tenant_id": "acme"}, query=UNANSWERABLE, ranking_profile="strict"
        ),
        memory_id=asked.memories[0].memory.memory_id,
    )
    reply = strict.stub().WhyNot(request, timeout=20)
    assert (reply.loss, reply.stage) == (recall_pb2.LOSS_ABSTAINED, "abstain")
    assert "nothing was packed: relevance" in reply.verdict
    [change] = reply.changes
    assert (change.profile_key, change.was) == ("abstain.threshold", "0.5")
    assert asked.relevance - 0.0002 < float(change.value) <= asked.relevance + 1e-6


def test_the_default_profile_separates_the_plain_cases(answering: Any) -> None:
    """With two dozen memories the probability separates the plain cases.

    What the caller may not see (Bob's key, the board's merger) gets the probability of what was never said.
    The answer model reads no shared words (ops/decisions/0039): measured here, plain answers get at least
    .96 and the others at most .22; with the lexical share, which decision 0039 removed, .98 and .11.
    """
    service, _ = answering
    for query in (ANSWERABLE, "where was Jan Nowak born", "what is the current port of the staging server"):
        reply = service.recall(query)
        assert not reply.abstained
        assert reply.relevance > 0.9
        assert reply.context.text
    for query in (UNANSWERABLE, "where is the spare garage key", "what did the board approve about Initech"):
        reply = service.recall(query)
        assert reply.memories
        assert reply.relevance < 0.25
