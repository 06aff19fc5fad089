import ast
import io
import json
import re
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from helix_lab.peers import run as peers_run
from helix_lab.peers.command import Entry, peers_command, without_embedding
from helix_lab.peers.exchange import read_costs, read_run, write_exchange
from helix_lab.peers.run import ENGINES, Unavailable, run_peers
from helix_lab.sets.answers import Answer, Run
from helix_lab.sets.data import Document, EvaluationSet, Question
from helix_lab.sets.handles import handle
from helix_shared.errors import CorruptArtifactError, InvalidInputError

REPOSITORY = Path(__file__).parents[3]
PEERS_PYTHON = REPOSITORY / ".venv-peers/bin/python"
HERE = Path(sys.executable)
INSTALLED = ("exact", "lancedb_dense", "lancedb_hybrid")
"""Peers whose packages the product has too: they run without an environment of their own."""

needs_peers = pytest.mark.skipif(not PEERS_PYTHON.exists(), reason="run `make peers-setup`")


def _document(
    identifier: str, text: str, *, tenant: str = "", title: str = "", speaker: str = ""
) -> Document:
    return Document(identifier, text, title, "", "", speaker, tenant)


def _set(documents: list[Document], questions: list[Question]) -> EvaluationSet:
    relevant = {question.id: {documents[0].id: 1.0} for question in questions}
    return EvaluationSet("tiny", documents, questions, relevant)


def _unit(*rows: tuple[float, ...]) -> np.ndarray:
    vectors = np.array(rows, dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


LEAKY = _set(
    [
        _document("D1:3", "the red kite", tenant="conv-26", title="Birds"),
        _document("answer_17", "the blue boat", tenant="conv-26", speaker="Ann"),
        _document("D9:9", "the red boat", tenant="conv-30"),
    ],
    [Question("q_abs_1", "which boat is red?", "", "", "conv-26")],
)
VECTORS = _unit((1, 0.1, 0), (0.2, 1, 0), (1, 1, 0))
QUESTION = _unit((1, 1, 0))
"""Nearest is D9:9 (cosine 1), then answer_17 (1.2 / sqrt(2 x 1.04) = .832), then D1:3 (.774)."""


def _ranking(result: Run | Unavailable, question: str) -> tuple[str, ...]:
    assert isinstance(result, Run), result
    return result.by_question[question].ranking


def test_no_id_of_the_set_reaches_a_peer(tmp_path: Path) -> None:
    """Public benchmarks leak labels through ids: neither documents, questions nor tenants show one."""
    write_exchange(LEAKY, VECTORS, QUESTION, tmp_path)

    written = (tmp_path / "documents.jsonl").read_text() + (tmp_path / "questions.jsonl").read_text()

    assert not [known for known in ("D1:3", "answer_17", "q_abs_1", "conv-26", "tiny") if known in written]
    assert "the red kite" in written


def test_line_order_is_vector_order(tmp_path: Path) -> None:
    """Line n of the documents is row n of the vectors, as float32."""
    write_exchange(LEAKY, VECTORS.astype(np.float64), QUESTION, tmp_path)

    lines = [json.loads(line) for line in (tmp_path / "documents.jsonl").read_text().splitlines()]

    assert [handle("document", "tiny", known) for known in ("D1:3", "answer_17", "D9:9")] == [
        line["handle"] for line in lines
    ]
    assert np.load(tmp_path / "vectors.npy").dtype == np.float32


@pytest.mark.parametrize("vectors", [VECTORS[:2], VECTORS * 2, VECTORS * np.nan, VECTORS[0]])
def test_vectors_that_do_not_fit_are_refused(tmp_path: Path, vectors: np.ndarray) -> None:
    """One unit row a document: a length of two would rank differently from engine to engine."""
    with pytest.raises(InvalidInputError, match="vectors"):
        write_exchange(LEAKY, vectors, QUESTION, tmp_path)


@pytest.mark.parametrize("engine", INSTALLED)
def test_a_question_is_answered_from_its_tenant_alone(tmp_path: Path, engine: str) -> None:
    """D9:9 is nearest and has both words, but belongs to another tenant."""
    (result,) = run_peers(LEAKY, VECTORS, QUESTION, engines=[engine], python=HERE, folder=tmp_path)

    assert _ranking(result, "q_abs_1") == ("answer_17", "D1:3")
    costs = read_costs(tmp_path / engine)
    assert costs.load_seconds > 0
    assert costs.peak_memory_mib > 1


MIXED = EvaluationSet(
    "tiny",
    [*LEAKY.documents, _document("of nobody", "a red boat")],
    [
        Question("of nobody in particular", "which boat is red?", "", "", ""),
        Question("of a newcomer", "which boat is red?", "", "", "conv-99"),
    ],
    {},
)
"""Documents of tenants and one without; a question without a tenant, one of a tenant without documents."""


@pytest.mark.parametrize("engine", INSTALLED)
def test_a_question_without_a_tenant_sees_the_documents_without_one(tmp_path: Path, engine: str) -> None:
    """As Helix has it: nobody in particular is a tenant among tenants, and a newcomer finds nothing."""
    vectors, asked = np.concatenate([VECTORS, QUESTION]), np.repeat(QUESTION, 2, axis=0)
    (result,) = run_peers(MIXED, vectors, asked, engines=[engine], python=HERE, folder=tmp_path)

    assert _ranking(result, "of nobody in particular") == ("of nobody",)
    assert _ranking(result, "of a newcomer") == ()


@needs_peers
def test_every_peer_keeps_nobody_and_newcomers_apart(tmp_path: Path) -> None:
    """The same, for every engine in the environment of its own."""
    vectors, asked = np.concatenate([VECTORS, QUESTION]), np.repeat(QUESTION, 2, axis=0)
    for result in run_peers(MIXED, vectors, asked, python=PEERS_PYTHON, folder=tmp_path):
        assert _ranking(result, "of nobody in particular") == ("of nobody",)
        assert _ranking(result, "of a newcomer") == ()


@needs_peers
def test_every_peer_keeps_to_the_tenant(tmp_path: Path) -> None:
    """The same, for every engine in the environment of its own; each gives figures."""
    results = run_peers(LEAKY, VECTORS, QUESTION, python=PEERS_PYTHON, folder=tmp_path)

    assert list(ENGINES) == [result.name for result in results]
    assert {frozenset({"answer_17", "D1:3"})} == {frozenset(_ranking(one, "q_abs_1")) for one in results}


@needs_peers
def test_every_peer_sees_all_documents_when_no_tenant_asks(tmp_path: Path) -> None:
    """A question of a set without tenants is put to the whole corpus; top_k cuts."""
    documents = [replace(document, tenant="") for document in LEAKY.documents]
    questions = [Question("anybody", "which boat is red?", "", "", "")]
    data = EvaluationSet("tiny", documents, questions, {"anybody": {"D9:9": 1.0}})

    results = run_peers(data, VECTORS, QUESTION, python=PEERS_PYTHON, folder=tmp_path, top_k=1)

    assert {("D9:9",)} == {_ranking(result, "anybody") for result in results}


def test_exact_ranks_by_cosine(tmp_path: Path) -> None:
    """Without a tenant the order is that of the cosines worked out by hand, cut at top_k."""
    documents = [_document(name, "word") for name in ("a", "b", "c")]
    data = _set(documents, [Question("q", "word", "", "", "")])

    (result,) = run_peers(data, VECTORS, QUESTION, engines=["exact"], python=HERE, folder=tmp_path, top_k=2)

    assert _ranking(result, "q") == ("c", "b")


@needs_peers
def test_bm25_prefers_the_rarer_word_and_the_shorter_text(tmp_path: Path) -> None:
    """Lucene's BM25 at k1 1.2, b .75; what shares no word with the question is not ranked.

    Five documents, `red` in four, `kite` in one: idf(red) = ln(1 + 1.5 / 4.5) = .29, idf(kite) =
    ln(1 + 4.5 / 1.5) = 1.39. Lengths 1, 1, 2, 5, 1, average 2. `red` once: norm 1.2 x (.25 + .75 x L / 2) is
    .75 for L = 1, 1.2 for 2, 2.55 for 5, so the score falls with the length. `kite` alone: 1.39 / 1.75 x 2.2.
    Titles and speakers are searched: `Kite` is a title, in the second `red` stands in the speaker.
    """
    documents = [
        _document("long", "red in and out of"),
        _document("kite", "is", title="Kite"),
        _document("short", "Red!"),
        _document("two", "Boat", speaker="red"),
        _document("none", "boat"),
    ]
    data = _set(documents, [Question("q", "RED kite", "", "", "")])
    vectors = _unit(*[(1.0, float(row)) for row in range(5)])

    (result,) = run_peers(
        data, vectors, QUESTION[:, :2], engines=["bm25"], python=PEERS_PYTHON, folder=tmp_path
    )

    assert _ranking(result, "q") == ("kite", "short", "two", "long")


def test_a_peer_without_its_environment_is_named_and_not_faked(tmp_path: Path) -> None:
    """No interpreter: every peer reports it, and none has an answer."""
    results = run_peers(LEAKY, VECTORS, QUESTION, python=tmp_path / "none/bin/python", folder=tmp_path / "x")

    assert list(ENGINES) == [result.name for result in results]
    assert all(isinstance(result, Unavailable) and "make peers-setup" in result.reason for result in results)


def test_a_peer_whose_package_is_missing_is_named_and_the_others_go_on(tmp_path: Path) -> None:
    """The product's own environment holds neither Chroma nor txtai."""
    missing, exact = run_peers(
        LEAKY, VECTORS, QUESTION, engines=["txtai_hybrid", "exact"], python=HERE, folder=tmp_path
    )

    assert isinstance(missing, Unavailable)
    assert "No module named 'txtai'" in missing.reason
    assert isinstance(exact, Run)


def test_a_peer_that_fails_is_named_with_its_own_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception in an engine is a reason, not a figure."""
    room = tmp_path / "room"
    (room / "engines").mkdir(parents=True)
    (room / "ask.py").write_text((peers_run.HERE / "ask.py").read_text())
    broken = "def load(documents, vectors, home):\n    raise ValueError('index is full')\n"
    (room / "engines/exact.py").write_text(broken)
    monkeypatch.setattr(peers_run, "HERE", room)

    (result,) = run_peers(LEAKY, VECTORS, QUESTION, engines=["exact"], python=HERE, folder=tmp_path / "x")

    assert isinstance(result, Unavailable)
    assert "index is full" in result.reason


def test_an_unknown_engine_is_refused(tmp_path: Path) -> None:
    """The message lists those there are."""
    with pytest.raises(InvalidInputError, match="lancedb_hybrid"):
        run_peers(LEAKY, VECTORS, QUESTION, engines=["best"], python=HERE, folder=tmp_path)


@pytest.mark.parametrize(
    "rankings",
    [[], [["made up"]], [[handle("document", "tiny", "D1:3")] * 2]],
    ids=["no answer", "unknown document", "one twice"],
)
def test_answers_that_cannot_be_are_refused(tmp_path: Path, rankings: list[list[str]]) -> None:
    """Every question once, known documents, none twice."""
    rows = [
        {"question": handle("question", "tiny", "q_abs_1"), "ranking": ranking, "milliseconds": 1.0}
        for ranking in rankings
    ]
    (tmp_path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    with pytest.raises(CorruptArtifactError):
        read_run(LEAKY, "engine", tmp_path)


def test_threads_and_telemetry_are_not_inherited(monkeypatch: pytest.MonkeyPatch) -> None:
    """Helix computes on one thread; a peer keeps its own thread pool, and makes no network call."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")

    environment = peers_run._environment("/somewhere")

    assert "OMP_NUM_THREADS" not in environment
    assert environment["MEM0_TELEMETRY"] == environment["ANONYMIZED_TELEMETRY"] == "False"
    assert environment["HOME"] == "/somewhere"


@pytest.mark.parametrize("path", [*sorted(peers_run.HERE.glob("engines/*.py")), peers_run.HERE / "ask.py"])
def test_the_other_side_knows_no_helix(path: Path) -> None:
    """An engine imports the standard library, numpy and its own package only."""
    own = {"bm25s", "chromadb", "lancedb", "mem0", "numpy", "pyarrow", "txtai"}
    imported = {name.split(".")[0] for node in ast.walk(ast.parse(path.read_text())) for name in _names(node)}

    assert imported <= own | sys.stdlib_module_names


def _names(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module if node.module and not node.level else "relative"]
    return []


def test_every_engine_has_its_file() -> None:
    """The list and the folder agree."""
    files = {path.stem for path in peers_run.HERE.glob("engines/*.py")} - {"__init__"}

    assert files == set(ENGINES)


def test_the_lock_pins_what_the_extra_names() -> None:
    """Every requirement of the extra, with hashes, without an address, and without torch."""
    project = tomllib.loads((REPOSITORY / "ops/lab/pyproject.toml").read_text())["project"]
    lock = (REPOSITORY / "ops/lab/peers.lock").read_text()
    named = {re.split("[^a-z0-9-]", line)[0] for line in project["optional-dependencies"]["peers"]}
    pinned = dict(re.findall(r"^([a-z0-9._-]+)==(\S+) \\\n    --hash=sha256:", lock, re.MULTILINE))

    assert named <= pinned.keys()
    assert len(re.findall("^[a-z]", lock, re.MULTILINE)) == len(pinned)
    assert "torch" not in pinned
    assert "://" not in lock


def test_without_embedding_takes_the_stage_off() -> None:
    """10 ms with 4 ms of embedding are 6; an answer without stage times is unchanged."""
    answers = (Answer("a", (), 10.0, {"embed": 4.0, "rank": 1.0}), Answer("b", (), 3.0))

    given = without_embedding(Run("tiny", "helix", answers))

    assert [answer.milliseconds for answer in given.answers] == [6.0, 3.0]
    assert given.name == "helix, vector given"


def test_the_command_shows_quality_beside_latency_and_names_who_is_missing(tmp_path: Path) -> None:
    """Helix's run appears twice, the exact peer is measured against it, a missing one has its reason."""
    own = Run("tiny", "helix", (Answer("q_abs_1", ("D1:3",), 5.0, {"embed": 2.0}),))
    shown = Console(file=io.StringIO(), width=200)
    second = replace(LEAKY, name="second")
    so_far: list[list[str]] = []

    report = peers_command(
        [
            Entry(LEAKY, VECTORS, QUESTION, (own,)),
            Entry(second, VECTORS, QUESTION, (replace(own, set_name="second"),)),
        ],
        python=HERE,
        folder=tmp_path,
        console=shown,
        engines=["exact", "chroma"],
        done=lambda report: so_far.append(list(report["sets"])),
    )
    assert so_far == [["tiny"], ["tiny", "second"]]

    figures = report["sets"]["tiny"]
    assert list(figures) == ["helix", "helix, vector given", "exact"]
    assert (figures["helix"]["nDCG@10"], figures["exact"]["nDCG@10"]) == (100.0, 63.1)  # 1 / log2(3)
    assert figures["helix, vector given"]["recall_ms"]["p50"] == 3.0
    assert figures["exact"]["against"]["nDCG@10"]["difference"] == -36.9
    assert "chromadb" in report["peers"]["tiny"]["chroma"]["unavailable"]
    assert "No module named 'chromadb'" in shown.file.getvalue()
