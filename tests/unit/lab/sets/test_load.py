"""Reading a set from disk; a broken one is refused by file and line."""

import gzip
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from helix_lab.sets.data import Document, Question, spread
from helix_lab.sets.load import load_set, set_names
from helix_shared.errors import InvalidInputError, NotFoundError

CORPUS = [
    {"id": "D1", "text": "Hello", "speaker": "Ann", "session_id": "S1", "tenant": "t"},
    {"id": "D2", "text": "A passage", "title": "Moon", "timestamp": "2023-05-08", "tenant": "t"},
    {"id": "D3", "text": "Bye", "session_id": "S2", "tenant": "t"},
    {"id": "D4", "text": "Elsewhere", "session_id": "S3"},
]
QUERIES = [
    {"id": "q1", "text": "Who?", "tenant": "t", "category": "fact", "timestamp": "2024-01-01"},
    {"id": "q2", "text": "Nobody knows?", "tenant": "t"},
]
QRELS = "query-id\tdoc-id\tscore\nq1\tD1\t1\nq1\tD2\t0.5\n"


def packed(rows: Sequence[dict[str, Any]] | str) -> bytes:
    """Rows, or lines as they are, in a gzip."""
    return gzip.compress((rows if isinstance(rows, str) else "\n".join(map(json.dumps, rows))).encode())


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A set that can be read."""
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "corpus.jsonl.gz").write_bytes(packed(CORPUS))
    (folder / "queries.jsonl.gz").write_bytes(packed(QUERIES))
    (folder / "qrels.tsv").write_text(QRELS)
    return folder


def test_a_set_is_read_in_the_order_of_its_lines(small: Path) -> None:
    """Unknown fields are empty; the name is the folder's."""
    data = load_set(small)
    assert data.name == "small"
    assert data.documents == [
        Document("D1", "Hello", "", "", "S1", "Ann", "t"),
        Document("D2", "A passage", "Moon", "2023-05-08", "", "", "t"),
        Document("D3", "Bye", "", "", "S2", "", "t"),
        Document("D4", "Elsewhere", "", "", "S3", "", ""),
    ]
    assert data.questions == [
        Question("q1", "Who?", "fact", "2024-01-01", "t"),
        Question("q2", "Nobody knows?", "", "", "t"),
    ]
    assert data.relevant == {"q1": {"D1": 1.0, "D2": 0.5}}
    assert (data.stale, data.sessions) == ({}, {})


def test_a_question_without_a_gain_above_zero_is_unanswerable(small: Path) -> None:
    """It tests abstention and stays out of recall."""
    (small / "qrels.tsv").write_text(QRELS + "q2\tD3\t0\n")
    data = load_set(small)
    assert [question.id for question in data.answerable] == ["q1"]
    assert [question.id for question in data.unanswerable] == ["q2"]
    assert "q2" not in data.relevant


def test_ids_that_are_numbers_are_read_as_text(small: Path) -> None:
    """Ids are strings in the judgements, and may count from 0, as sessions and tenants may."""
    rows = [{"id": 0, "text": "zero", "session_id": 0, "tenant": 0}, {"id": 7, "text": "seven", "tenant": 0}]
    (small / "corpus.jsonl.gz").write_bytes(packed(rows))
    (small / "queries.jsonl.gz").write_bytes(packed([{"id": "q1", "text": "Which?", "tenant": 0}]))
    (small / "qrels.tsv").write_text("h\nq1\t0\t1\nq1\t7\t1\n")
    data = load_set(small)
    assert data.relevant == {"q1": {"0": 1.0, "7": 1.0}}
    assert data.documents[0] == Document("0", "zero", "", "", "0", "", "0")


def test_a_corpus_without_tenants_belongs_to_everyone(small: Path) -> None:
    """No tenant is an empty one, for documents and questions alike."""
    (small / "corpus.jsonl.gz").write_bytes(packed([{"id": "D1", "text": "x"}, {"id": "D2", "text": "y"}]))
    (small / "queries.jsonl.gz").write_bytes(packed([{"id": "q1", "text": "x?", "tenant": None}]))
    data = load_set(small)
    assert [document.tenant for document in data.documents] == ["", ""]
    assert [question.tenant for question in data.questions] == [""]


def test_superseded_documents_and_sessions_are_read_where_known(small: Path) -> None:
    """A pair needs no third field; a session judged 0 is not relevant."""
    (small / "stale.tsv").write_text("query-id\tdoc-id\nq1\tD3\nq1\tD2\n")
    (small / "qrels_session.tsv").write_text("query-id\tsession-id\tscore\nq1\tS1\t1\nq1\tS2\t0\n")
    data = load_set(small)
    assert (data.stale, data.sessions) == ({"q1": {"D2", "D3"}}, {"q1": {"S1"}})


def test_a_variant_has_queries_and_judgements_of_its_own(small: Path) -> None:
    """`small:corrected` shares the corpus, and is named with its variant."""
    (small / "queries_corrected.jsonl.gz").write_bytes(
        packed([{"id": "q9", "text": "Corrected?", "tenant": "t"}])
    )
    (small / "qrels_corrected.tsv").write_text("h\nq9\tD3\t1\n")
    data = load_set(small.with_name("small:corrected"))
    assert (data.name, len(data.documents)) == ("small:corrected", 4)
    assert [question.id for question in data.questions] == ["q9"]
    assert data.relevant == {"q9": {"D3": 1.0}}


def test_an_unknown_variant_names_the_file_it_lacks(small: Path) -> None:
    """Not the plain one, silently."""
    with pytest.raises(NotFoundError, match=r"queries_better\.jsonl\.gz does not exist"):
        load_set(small.with_name("small:better"))


@pytest.fixture
def without_corpus(small: Path) -> Path:
    """The questions of `code_exact`, which are about the corpus of `code_change`."""
    (small / "corpus.jsonl.gz").unlink()
    return small.rename(small.with_name("code_exact"))


@pytest.mark.parametrize("lender", ["code_change", "elsewhere/code_exact", "elsewhere/code_change"])
def test_a_set_without_a_corpus_borrows_one(without_corpus: Path, lender: str) -> None:
    """From the set it is about, beside it or under `corpus_from`, or from its own name there."""
    folder = without_corpus.parent / lender
    folder.mkdir(parents=True)
    (folder / "corpus.jsonl.gz").write_bytes(packed(CORPUS))
    data = load_set(without_corpus, corpus_from=without_corpus.parent / "elsewhere")
    assert (data.name, len(data.documents)) == ("code_exact", 4)


def test_its_own_corpus_comes_first(small: Path, tmp_path: Path) -> None:
    """`corpus_from` is for sets without one."""
    (tmp_path / "elsewhere" / "small").mkdir(parents=True)
    (tmp_path / "elsewhere" / "small" / "corpus.jsonl.gz").write_bytes(packed(CORPUS[:2]))
    assert len(load_set(small, corpus_from=tmp_path / "elsewhere").documents) == 4


def test_a_corpus_found_nowhere_names_every_place_looked_at(without_corpus: Path) -> None:
    """Four places: two names in two roots."""
    with pytest.raises(NotFoundError, match="no corpus for code_exact; looked for ") as caught:
        load_set(without_corpus, corpus_from=without_corpus.parent / "elsewhere")
    for place in ("code_exact", "code_change", "elsewhere/code_exact", "elsewhere/code_change"):
        assert str(without_corpus.parent / place / "corpus.jsonl.gz") in str(caught.value)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("corpus.jsonl.gz", r"no corpus for small; looked for .*small/corpus\.jsonl\.gz"),
        ("queries.jsonl.gz", r"small/queries\.jsonl\.gz does not exist"),
        ("qrels.tsv", r"small/qrels\.tsv does not exist"),
    ],
)
def test_a_missing_file_is_named(small: Path, name: str, said: str) -> None:
    """A set has three files."""
    (small / name).unlink()
    with pytest.raises(NotFoundError, match=said):
        load_set(small)


FIRST = json.dumps({"id": "D1", "text": "x"}) + "\n"


@pytest.mark.parametrize("name", ["corpus.jsonl.gz", "queries.jsonl.gz"])
@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (FIRST + "{oops", r":2: is not JSON: "),
        (FIRST + "\n" + FIRST, r":2: is not JSON: "),
        (FIRST + '["D2", "y"]', r":2: is not a JSON object"),
        (FIRST + '{"text": "y"}', r":2: id is missing, empty or no text"),
        (FIRST + '{"id": "", "text": "y"}', r":2: id is missing"),
        (FIRST + '{"id": "D2"}', r":2: text is missing, empty or no text"),
        (FIRST + '{"id": "D2", "text": " "}', r":2: text is missing"),
        (FIRST + '{"id": "D2", "text": ["y"]}', r":2: text is missing"),
        (FIRST + '{"id": "D2", "text": "y"}\n' + FIRST, r":3: id 'D1' is in an earlier line"),
        ("", r": is empty"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(small: Path, name: str, lines: str, said: str) -> None:
    """File and line, in the corpus as in the queries."""
    (small / name).write_bytes(packed(lines))
    with pytest.raises(InvalidInputError, match=f"{name}{said}"):
        load_set(small)


NO_ISO = "is not ISO 8601, as in 2026-11-22T09:30:00Z"


@pytest.mark.parametrize(
    ("name", "fields", "said"),
    [
        ("corpus", {"timestamp": 1_700_000_000}, f"timestamp: '1700000000' {NO_ISO}"),
        ("corpus", {"timestamp": "8 May 2023"}, f"timestamp: '8 May 2023' {NO_ISO}"),
        ("corpus", {"timestamp": "0001-01-01T00:00:00+14:00"}, f"timestamp: '.*' {NO_ISO}"),
        ("corpus", {"text": "x" * 100_001}, "text: must have at most 100000 characters"),
        ("corpus", {"title": "x" * 1_001}, "title: must have at most 1000 characters"),
        ("corpus", {"speaker": "x" * 257}, "speaker: must have at most 256 characters"),
        ("corpus", {"id": "\ud800"}, "surrogates not allowed"),
        ("queries", {"timestamp": "yesterday"}, f"timestamp: 'yesterday' {NO_ISO}"),
        ("queries", {"timestamp": "9999-12-31"}, "out of range"),
        ("queries", {"text": "x" * 4_097}, "query: must have at most 4096 characters"),
    ],
)
def test_a_line_that_breaks_a_limit_is_named(
    small: Path, name: str, fields: dict[str, Any], said: str
) -> None:
    """Before a corpus is built of it: no event, or no recall, can be made of the line."""
    rows = CORPUS if name == "corpus" else QUERIES
    last = {"id": "last", "text": "y", "tenant": "t"} | fields
    (small / f"{name}.jsonl.gz").write_bytes(packed([*rows, last]))
    with pytest.raises(InvalidInputError, match=rf"{name}\.jsonl\.gz:{len(rows) + 1}: .*{said}"):
        load_set(small)


BIG = "".join(f'{{"id": "D{n}", "text": "{n * 7919}"}}\n' for n in range(5_000))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b'{"id": "D1", "text": "plain text, no gzip"}\n', r":1: is not gzip of UTF-8 lines"),
        (b"", r": is empty"),
        (packed(BIG)[:-5_000], r":\d{3,}: is not gzip of UTF-8 lines"),
        (
            gzip.compress(FIRST.encode() + b'{"id": "D2", "text": "\xff"}'),
            r":\d+: is not gzip of UTF-8 lines",
        ),
    ],
    ids=["plain text", "no bytes", "cut off", "latin-1"],
)
def test_a_file_that_is_no_gzip_of_text_is_refused(small: Path, content: bytes, said: str) -> None:
    """Also a file whose download was interrupted."""
    (small / "corpus.jsonl.gz").write_bytes(content)
    with pytest.raises(InvalidInputError, match=rf"corpus\.jsonl\.gz{said}"):
        load_set(small)


@pytest.mark.parametrize(
    ("name", "line", "said"),
    [
        ("qrels.tsv", "q1\tD9\t1", "'D9' is not in the corpus"),
        ("qrels.tsv", "q9\tD1\t1", "query 'q9' is not in the set"),
        ("qrels.tsv", "q1\tD4\t1", "'D4' is of another tenant than the query"),
        ("qrels.tsv", "q1 D1 1", "not: query id, document id, gain, with tabs between"),
        ("qrels.tsv", "q1\tD1", "not: query id, document id, gain"),
        ("qrels.tsv", "q1\tD1\tmuch", "not: query id, document id, gain"),
        ("qrels.tsv", "", "not: query id, document id, gain"),
        ("stale.tsv", "q1\tD9", "'D9' is not in the corpus"),
        ("stale.tsv", "q9\tD1", "query 'q9' is not in the set"),
        ("stale.tsv", "q1\tD4", "'D4' is of another tenant than the query"),
        ("stale.tsv", "q1", "not: query id, document id"),
        ("qrels_session.tsv", "q1\tS9\t1", "'S9' is not in the corpus"),
        ("qrels_session.tsv", "q9\tS1\t1", "query 'q9' is not in the set"),
        ("qrels_session.tsv", "q1\tD1\t1", "'D1' is not in the corpus"),
        ("qrels_session.tsv", "q1\tS3\t1", "'S3' is of another tenant than the query"),
    ],
)
def test_a_judgement_outside_the_set_is_named_by_line(small: Path, name: str, line: str, said: str) -> None:
    """Line 1 is the heading, line 2 is fine, line 3 is not."""
    target = "S1" if name == "qrels_session.tsv" else "D1"
    (small / name).write_text(f"heading\nq1\t{target}\t1\n{line}\n")
    with pytest.raises(InvalidInputError, match=rf"{name}:3: {said}"):
        load_set(small)


@pytest.mark.parametrize("name", ["qrels.tsv", "stale.tsv", "qrels_session.tsv"])
def test_judgements_that_are_no_text_are_refused(small: Path, name: str) -> None:
    """By name."""
    (small / name).write_bytes(b"heading\nq1\t\xff\t1\n")
    with pytest.raises(InvalidInputError, match=f"{name}.*: is not UTF-8"):
        load_set(small)


def test_a_sample_is_spread_evenly_over_the_questions(small: Path) -> None:
    """Every fourth of forty; the corpus and the judgements stay whole."""
    (small / "queries.jsonl.gz").write_bytes(
        packed([{"id": f"q{n}", "text": "x", "tenant": "t"} for n in range(40)])
    )
    data = load_set(small)
    assert [question.id for question in data.sample(10).questions] == [f"q{n}" for n in range(0, 40, 4)]
    assert (data.sample(10).documents, data.sample(10).relevant) == (data.documents, data.relevant)
    assert data.sample(None) is data.sample(40) is data


def test_a_part_is_spread_over_the_whole() -> None:
    """Of 700 documents 400 were the first 400; fewer than are wanted are all."""
    found = spread(range(700), 400)
    assert (len(found), found[0], found[-1]) == (400, 0, 698)
    assert {after - before for before, after in pairwise(found)} == {1, 2}
    assert spread([1, 2, 3], 4) == [1, 2, 3]
    assert spread([], 4) == []


def test_sets_are_found_by_name(small: Path) -> None:
    """A folder without questions is not a set."""
    (small.parent / "a_tool").mkdir()
    assert set_names(small.parent) == ["small"]


def test_a_folder_without_sets_is_refused(tmp_path: Path) -> None:
    """Also one that does not exist."""
    for folder in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(NotFoundError, match=f"{folder} holds no evaluation set"):
            set_names(folder)


@pytest.mark.parametrize("gain", ["inf", "nan", "much"])
def test_a_gain_that_is_no_number_is_refused(small: Path, gain: str) -> None:
    """It would make every mean it enters NaN."""
    (small / "qrels.tsv").write_text(f"query-id\tdoc-id\tscore\nq1\tD1\t{gain}\n")
    with pytest.raises(InvalidInputError, match=r"qrels\.tsv:2"):
        load_set(small)


def test_judgements_without_a_heading_are_refused(small: Path) -> None:
    """Their first line would be lost without a word."""
    (small / "qrels.tsv").write_text("q1\tD1\t1\nq1\tD2\t1\n")
    with pytest.raises(InvalidInputError, match=r"qrels\.tsv:1.*heading"):
        load_set(small)


def test_a_session_that_is_no_name_is_refused(small: Path) -> None:
    """Documents without a session do not make the empty one."""
    (small / "qrels_session.tsv").write_text("query-id\tsession-id\tscore\nq1\t\t1\n")
    with pytest.raises(InvalidInputError, match=r"qrels_session\.tsv:2"):
        load_set(small)
