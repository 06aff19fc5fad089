"""The sets that are built in: their content, and how they are found beside the user's."""

import gzip
from collections import Counter
from pathlib import Path

import pytest

from helix_lab.channel_share.kinds import kind_of, metric_of
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.load import BUILT_IN, MONTHS, built_in, load_sets
from helix_shared.errors import NotFoundError

FEWEST = {
    "current": 10, "followup": 6, "pronoun": 4, "future_date": 4, "preference": 5, "abstain": 4,
    "history": 3, "past_date": 3, "who": 3, "why": 3, "exact": 3, "aggregate": 2,
}  # fmt: skip


@pytest.fixture(scope="module", params=BUILT_IN)
def shipped(request: pytest.FixtureRequest) -> EvaluationSet:
    """A set as the package holds it."""
    return built_in(request.param)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with one set of the user."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(b'{"id": "D", "text": "hello"}'))
    (folder / "queries.jsonl.gz").write_bytes(gzip.compress(b'{"id": "q", "text": "hello?"}'))
    (folder / "qrels.tsv").write_text("h\nq\tD\t1\n")
    return tmp_path


def test_every_tenant_has_months_of_events_and_all_kinds_of_questions(shipped: EvaluationSet) -> None:
    """24 tenants with at least 95 events and 52 questions each."""
    events = Counter(document.tenant for document in shipped.documents)
    assert len(events) == 24
    assert min(events.values()) >= 95
    kinds = Counter((question.tenant, question.category) for question in shipped.questions)
    assert {category for _, category in kinds} == set(FEWEST)
    fewest = FEWEST if shipped.name == MONTHS else dict.fromkeys(FEWEST, 1)
    assert all(kinds[tenant, kind] >= count for tenant in events for kind, count in fewest.items())
    assert min(Counter(question.tenant for question in shipped.questions).values()) >= 52


def test_only_abstention_questions_are_without_an_answer(shipped: EvaluationSet) -> None:
    """Nine of ten questions about the current state have outdated events."""
    assert {question.category for question in shipped.unanswerable} == {"abstain"}
    current = [question for question in shipped.questions if question.category == "current"]
    assert sum(question.id in shipped.stale for question in current) > 0.9 * len(current)


def test_ids_are_distinct_and_judged_events_are_of_the_own_tenant(shipped: EvaluationSet) -> None:
    """Another tenant's event can never be found."""
    tenant = {document.id: document.tenant for document in shipped.documents}
    assert len(tenant) == len(shipped.documents)
    for question in shipped.questions:
        judged = {*shipped.relevant.get(question.id, ()), *shipped.stale.get(question.id, ())}
        assert {tenant[event] for event in judged} <= {question.tenant}


def test_it_is_found_beside_the_sets_of_a_folder(own: Path) -> None:
    """By name, and among all of them; a limit counts for it too."""
    assert [one.name for one in load_sets(own, "")] == ["mine", MONTHS]
    found = load_sets(own, "months,mine", limit=10)
    assert [(one.name, len(one.questions)) for one in found] == [(MONTHS, 10), ("mine", 1)]


def test_a_folder_of_its_name_wins(own: Path) -> None:
    """The user's own months."""
    (own / "mine").rename(own / MONTHS)
    assert [(one.name, len(one.documents)) for one in load_sets(own, "")] == [(MONTHS, 1)]


def test_it_is_named_where_a_set_is_missing(own: Path) -> None:
    """So is it where the folder holds none, and all are wanted."""
    with pytest.raises(NotFoundError, match="there: mine; built in: months"):
        load_sets(own, "yours")
    with pytest.raises(NotFoundError, match="holds no evaluation set"):
        load_sets(own / "mine", "")


def test_it_is_of_the_kind_of_life() -> None:
    """Both together weigh as much as one kind."""
    assert (kind_of(MONTHS), metric_of(MONTHS)) == (kind_of("life"), metric_of("life"))
