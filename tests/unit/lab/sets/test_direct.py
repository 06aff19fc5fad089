from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from helix_lab.sets.answers import Run
from helix_lab.sets.ask import request_of
from helix_lab.sets.build import BUILT
from helix_lab.sets.cached.corpus import CachedCorpus
from helix_lab.sets.data import EvaluationSet
from helix_lab.sets.direct import build_direct, corpus_folder, open_direct, open_graph
from helix_lab.sets.handles import event_of
from helix_lab.sets.packs import BUDGETS
from helix_lab.sets.vector_store import VectorStore
from helix_memory.events import encode_event
from helix_query.profile.files import load_profiles
from helix_query.profile.overrides import with_constants
from helix_shared.edges import TOKEN_CODE_BYTES
from helix_shared.encoders.token_codes import Embedding

MARK = "zzleak"
PROFILES = {name: one for name, one in load_profiles().items() if not one.rerank.late_interaction_model}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The lab's folder, shared so that the corpus is built once."""
    return tmp_path_factory.mktemp("lab")


def test_no_field_of_an_event_or_request_holds_an_id_of_the_set(small_set: EvaluationSet) -> None:
    """Documents, sessions, tenants and questions reach the engine as handles only."""
    events = [encode_event(event_of(small_set, n)) for n in range(len(small_set.documents))]
    requests = [
        request_of(small_set, question, profile="helix", top_k=10).SerializeToString()
        for question in small_set.questions
    ]
    assert len(events) == 72
    assert not [body for body in (*events, *requests) if MARK.encode() in body]


def test_no_column_of_a_built_corpus_holds_an_id_of_the_set(
    small_set: EvaluationSet, home: Path, models_dir: Path
) -> None:
    """Nothing in the published generation does, neither in a column nor in a byte of its files."""
    build_direct(small_set, home, models_dir)
    with open_direct(small_set, home, models_dir, PROFILES) as corpus:
        generation = corpus.served.generation
        count = generation.manifest.counts.signals
        rows = generation.vectors.take(np.arange(count)).to_pylist()
    assert len(rows) >= 72
    assert MARK not in str(rows)
    files = [path for path in corpus_folder(small_set, home, models_dir).rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if MARK.encode() in path.read_bytes() or MARK in path.name]


def test_a_built_corpus_is_used_again(small_set: EvaluationSet, home: Path, models_dir: Path) -> None:
    """The same documents, code and model: nothing to do."""
    build_direct(small_set, home, models_dir)
    assert not build_direct(small_set, home, models_dir)


def test_a_changed_document_makes_another_corpus(
    small_set: EvaluationSet, home: Path, models_dir: Path
) -> None:
    """One word is enough."""
    documents = [replace(small_set.documents[0], text="Something else."), *small_set.documents[1:]]
    changed = replace(small_set, documents=documents)
    assert corpus_folder(changed, home, models_dir) != corpus_folder(small_set, home, models_dir)


def test_a_killed_build_starts_again(
    make_set: Callable[..., EvaluationSet], tmp_path: Path, models_dir: Path
) -> None:
    """A folder without its mark is not trusted."""
    data = make_set("killed", turns=6, notes=6)
    build_direct(data, tmp_path, models_dir)
    (corpus_folder(data, tmp_path, models_dir) / BUILT).unlink()
    assert build_direct(data, tmp_path, models_dir)
    with open_direct(data, tmp_path, models_dir, PROFILES) as corpus:
        assert corpus.ask(data.questions[0], "helix", top_k=10).ranking


def test_a_question_finds_its_document_in_its_own_tenant(
    small_set: EvaluationSet, home: Path, models_dir: Path
) -> None:
    """Answers carry the set's ids again, and never another tenant's document."""
    build_direct(small_set, home, models_dir)
    tenant = {document.id: document.tenant for document in small_set.documents}
    with open_direct(small_set, home, models_dir, PROFILES) as corpus:
        for question in small_set.questions:
            answer = corpus.ask(question, "helix", top_k=20)
            assert {tenant[found] for found in answer.ranking} == {question.tenant}
            assert set(small_set.relevant[question.id]) <= set(answer.ranking[:10])
            assert answer.packed
            assert 0 < answer.packed_tokens <= 2_000
            assert list(answer.stages_ms)[:3] == ["embed", "route", "retrieve"]
            assert sum(answer.stages_ms.values()) <= answer.milliseconds


@pytest.mark.parametrize(("around", "top_k"), [("none", 50), ("neighbours", 3)])
def test_evidence_is_packed_as_for_a_caller_with_that_budget(
    small_set: EvaluationSet, home: Path, models_dir: Path, around: str, top_k: int
) -> None:
    """A recall of 500 tokens packs what is measured inside 500, and so at every budget; neighbours count."""
    own = with_constants(PROFILES["helix"], {"pack.expand_context": around})
    profiles = PROFILES | {
        f"of-{budget}": with_constants(own, {"token_budget": budget}) for budget in BUDGETS
    }
    build_direct(small_set, home, models_dir)
    with open_direct(small_set, home, models_dir, profiles) as corpus:
        for question in small_set.questions[:3]:
            answers = {budget: corpus.ask(question, f"of-{budget}", top_k=top_k) for budget in BUDGETS}
            assert len({tuple(one.packed_within.items()) for one in answers.values()}) == 1
            for budget, answer in answers.items():
                inside = answer.packed_within[budget]
                assert inside[: len(answer.packed)] == answer.packed
                assert (len(inside) > len(answer.packed)) == (around == "neighbours")


def test_the_graph_of_a_built_corpus_names_its_documents(
    small_set: EvaluationSet, home: Path, models_dir: Path
) -> None:
    """Each ordinal leads to the document whose text it holds; without a corpus there is none."""
    build_direct(small_set, home, models_dir)
    built = open_graph(small_set, home, models_dir)
    assert built is not None
    graph, document_of = built
    assert graph.memories == len(document_of)
    with open_direct(small_set, home, models_dir, PROFILES) as corpus:
        lines = corpus.served.generation.signals.records(np.arange(len(document_of)))
    assert [small_set.documents[place].id for place in document_of[[line["ordinal"] for line in lines]]] == [
        corpus.names[line["event_id"]] for line in lines
    ]
    assert open_graph(replace(small_set, name="other"), home, models_dir) is None


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_a_rehearsal_ranks_as_the_direct_path_does(
    small_set: EvaluationSet, home: Path, models_dir: Path, profile: str
) -> None:
    """What it remembers changes nothing, the first time and the second."""
    build_direct(small_set, home, models_dir)
    with open_direct(small_set, home, models_dir, PROFILES) as corpus:
        asked = {question.id: corpus.ask(question, profile, top_k=50) for question in small_set.answerable}
        rehearsal = CachedCorpus(corpus)
        for _ in range(2):
            answers = rehearsal.run(PROFILES[profile]).by_question
            assert {name: answer.ranking for name, answer in answers.items()} == {
                name: answer.ranking for name, answer in asked.items()
            }


def test_a_rehearsal_searches_again_for_what_a_channel_reads_elsewhere(
    small_set: EvaluationSet, home: Path, models_dir: Path
) -> None:
    """The entity channel passes no hub of the graph: another cap is another search."""
    build_direct(small_set, home, models_dir)
    entities = with_constants(PROFILES["engram"], {"retrieve.channels": ("entity",), "expand.enabled": False})
    capped = with_constants(entities, {"expand.hub_cap": 1})
    with open_direct(small_set, home, models_dir, PROFILES) as corpus:
        fresh, rehearsal = CachedCorpus(corpus), CachedCorpus(corpus)
        before = rankings(rehearsal.run(entities))
        assert rankings(rehearsal.run(capped)) == rankings(fresh.run(capped)) != before


def rankings(run: Run) -> list[tuple[str, ...]]:
    """By question, in their order."""
    return [answer.ranking for answer in run.answers]


def test_vector_and_codes_are_kept_bit_for_bit(tmp_path: Path) -> None:
    """A second process gets what the first one put; a run without codes takes none away."""
    vector = np.linspace(-1, 1, 384, dtype=np.float32)
    codes = np.arange(3 * TOKEN_CODE_BYTES, dtype=np.uint8).reshape(3, TOKEN_CODE_BYTES)
    with VectorStore(tmp_path, model="abc") as store:
        assert store.get("text") is None
        store.put("text", Embedding(vector, None))
        without = store.get("text")
        assert without is not None
        assert without.codes is None
        store.put("text", Embedding(vector, codes))
        store.put("text", Embedding(vector, None))
    with VectorStore(tmp_path, model="abc") as store:
        kept = store.get("text")
        assert kept is not None
        assert kept.codes is not None
        assert kept.vector.tobytes() == vector.tobytes()
        assert kept.codes.tobytes() == codes.tobytes()
        assert kept.codes.shape == codes.shape
        assert not kept.vector.flags.writeable
    with VectorStore(tmp_path, model="other") as store:
        assert store.get("text") is None
