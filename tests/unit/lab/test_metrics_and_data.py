"""The lab measures what it says, and refuses broken sets by file and line."""

import gzip
import json
from pathlib import Path

import pytest

from helix.events import MemoryEvent, MessageEvent
from helix_lab.data import load_set
from helix_lab.handles import event_of, handle, tenant_of
from helix_lab.metrics import evaluate, mean
from helix_shared.errors import InvalidInputError, NotFoundError

CORPUS = [
    {"id": "D1:1", "text": "Hello", "speaker": "Ann", "session_id": "t:S1", "tenant": "t"},
    {"id": "answer_7", "text": "A passage", "title": "Moon", "timestamp": "2023-05-08"},
]
QUERIES = [{"id": "q1", "text": "Who?", "tenant": "t"}, {"id": "q2", "text": "Unanswerable?"}]


def written(folder: Path, *, corpus: str = "", qrels: str = "q\td\ts\nq1\tD1:1\t1\n") -> Path:
    """A small set on disk."""
    folder.mkdir(exist_ok=True)
    lines = corpus or "\n".join(map(json.dumps, CORPUS))
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    (folder / "queries.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, QUERIES)).encode()))
    (folder / "qrels.tsv").write_text(qrels)
    return folder


def test_metrics_of_one_ranking_worked_by_hand() -> None:
    """Two relevant, at ranks 2 and 6: R@5 one half, R@10 all, first found at rank 2."""
    scores = evaluate(list("xaxyzbuvwt"), {"a": 1.0, "b": 1.0})
    assert (scores["R@1"], scores["R@5"], scores["R@10"]) == (0.0, 0.5, 1.0)
    assert (scores["Hit@1"], scores["Hit@5"], scores["All@5"], scores["All@10"]) == (0.0, 1.0, 0.0, 1.0)
    assert scores["MRR@10"] == 0.5


def test_nothing_found_scores_nothing() -> None:
    """An empty ranking is an answer, too."""
    assert set(evaluate([], {"a": 1.0}).values()) == {0.0}


def test_means_are_in_percent() -> None:
    """One decimal."""
    assert mean([{"R@5": 1.0}, {"R@5": 0.0}, {"R@5": 1.0}]) == {"R@5": 66.7}


def test_a_question_without_judgement_is_not_answerable(tmp_path: Path) -> None:
    """It tests abstention and stays out of recall."""
    assert [q.id for q in load_set(written(tmp_path / "s")).answerable] == ["q1"]


def test_no_id_of_the_set_reaches_the_engine(tmp_path: Path) -> None:
    """Benchmarks leak labels through ids; events carry opaque handles only."""
    data = load_set(written(tmp_path / "s"))
    turn, passage = (event_of(data, n) for n in range(2))
    assert isinstance(turn, MessageEvent)
    assert isinstance(passage, MemoryEvent)
    for event in (turn, passage):
        body = event.model_dump_json()
        assert not [leak for leak in ("D1:1", "answer_7", "t:S1") if leak in body]
    assert turn.event_id == handle("document", "s", "D1:1")
    assert turn.tenant_id == tenant_of("s", "t") != passage.tenant_id


@pytest.mark.parametrize(
    ("qrels", "said"),
    [("h\nq1\tnowhere\t1\n", r"qrels\.tsv:2: names"), ("h\nq1\tD1:1\n", r"qrels\.tsv:2: not:")],
)
def test_a_broken_judgement_is_named_by_line(tmp_path: Path, qrels: str, said: str) -> None:
    """File and line."""
    with pytest.raises(InvalidInputError, match=said):
        load_set(written(tmp_path / "s", qrels=qrels))


def test_a_broken_corpus_line_is_named(tmp_path: Path) -> None:
    """File and line."""
    with pytest.raises(InvalidInputError, match=r"corpus\.jsonl\.gz:2"):
        load_set(written(tmp_path / "s", corpus=json.dumps(CORPUS[0]) + "\n{oops\n"))


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """A set has three files."""
    with pytest.raises(NotFoundError, match=r"corpus\.jsonl\.gz does not exist"):
        load_set(tmp_path)
