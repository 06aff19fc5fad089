"""Hits and scores of a tenant are equal to the bit, with any documents of other tenants."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tantivy import Query

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.lexicon import scores as lexicon_scores
from helix_shared.artifacts.lexicon.files import documents_and_deleted
from helix_shared.artifacts.lexicon.lengths import KEPT, TYPICAL, padded
from helix_shared.artifacts.lexicon.query import lexicon_schema
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.artifacts.lexicon.scopes import WeightedTerm
from helix_shared.artifacts.lexicon.scores import ScoredQuery, on_grid
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter
from tests.examples import examples

ACME: Final = Selection("acme", "ada", principals=("ops", "dev"))
TEXT: Final = "otter river fish swim staging port deploy friday café billing E0308 src/auth.py"
WORDS: Final = tuple(TEXT.split())
QUERIES: Final = ("otter river", "staging port deploy friday", "café E0308 src/auth.py fish", "billing")
LIMIT: Final = 7


def entry(ordinal: int, tenant: str, text: str, **given: Any) -> LexiconEntry:
    """An entry that everyone in a tenant sees."""
    plain: dict[str, Any] = {"owner": "", "audience": ("*",), "type": "episodic", "project_id": ""}
    return LexiconEntry(
        ordinal=ordinal, tenant_id=tenant, session_id="s", event_at=0, text=text, **plain | given
    )


def said(rng: random.Random, words: int) -> str:
    """A text with this many of the words."""
    return " ".join(rng.choice(WORDS) for _ in range(words))


def of_acme(ordinals: range) -> list[LexiconEntry]:
    """Entries of different lengths, some with context, expansions, an owner or an access list."""
    rng = random.Random(ordinals.start % 1_000)
    return [
        entry(
            ordinal,
            "acme",
            said(rng, rng.randint(1, 30)),
            speaker="ann" if ordinal % 2 else "",
            context=said(rng, 20) if ordinal % 3 else "",
            expansions=(said(rng, 4),) if ordinal % 4 == 0 else (),
            owner="ada" if ordinal % 5 == 0 else "",
            audience=("ops", "dev") if ordinal % 7 == 0 else ("*",),
        )
        for ordinal in ordinals
    ]


def answers(reader: LexiconReader) -> list[tuple[list[int], bytes]]:
    """Ordinals and scores of the three kinds of search, for every query."""
    found = []
    for query in QUERIES:
        for search in (reader.search, reader.term_coverage, reader.search_all_words):
            hits = search(query, ACME, limit=LIMIT)
            found.append((hits.ordinals.tolist(), hits.scores.tobytes()))
    reader.close()
    return found


def history(folder: Path, others: list[list[LexiconEntry]], gone: list[int]) -> list[Any]:
    """Results for acme after each of three commits, between which other tenants write and delete."""
    writer = LexiconWriter.create(folder / "lexicon")
    found = []
    for step, mine in enumerate((range(24), range(24, 30), range(30, 31))):
        writer.upsert([*of_acme(mine), *others[step]])
        if step == 2:
            writer.delete(gone)
        writer.commit()
        writer.link_into(folder / f"commit{step}")
        found.append(answers(LexiconReader(folder / f"commit{step}", scratch=folder / "scratch")))
    writer.close()
    return found


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Results for acme without other tenants."""
    return history(tmp_path_factory.mktemp("alone"), [[], [], []], [])


@settings(
    max_examples=examples(6),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    lengths=st.lists(st.sampled_from([1, 3, 40, 400]), min_size=3, max_size=3),
    counts=st.lists(st.integers(0, 60), min_size=3, max_size=3),
    deleted=st.integers(0, 60),
)
def test_scores_do_not_depend_on_other_tenants(
    tmp_path_factory: pytest.TempPathFactory,
    alone: list[Any],
    lengths: list[int],
    counts: list[int],
    deleted: int,
) -> None:
    """Others have nothing, or short or long texts of the same words in several commits, some deleted."""
    rng = random.Random(1)
    others, first = [], 1_000
    for length, count in zip(lengths, counts, strict=True):
        others.append(
            [entry(first + n, f"t{n % 3}", said(rng, length), context=said(rng, 9)) for n in range(count)]
        )
        first += count
    found = history(tmp_path_factory.mktemp("among"), others, list(range(1_000, 1_000 + deleted)))
    assert found == alone
    assert any(ordinals for ordinals, _ in found[-1])


def test_a_replaced_memory_counts_once_before_and_after_a_merge(tmp_path: Path) -> None:
    """Commits of another tenant cause the merge that removes the first versions."""
    writer = LexiconWriter.create(tmp_path / "lexicon")
    for mine in (range(24), range(12)):
        writer.upsert(of_acme(mine))
        writer.commit()
    writer.link_into(tmp_path / "before")
    assert documents_and_deleted(tmp_path / "before")[1] > 0
    rng = random.Random(3)
    for first in range(1_000, 1_120, 10):
        writer.upsert([entry(first + n, "other", said(rng, 40)) for n in range(10)])
        writer.commit()
    writer.close()
    assert documents_and_deleted(tmp_path / "lexicon")[1] == 0, "no merge"
    before, after = (LexiconReader(tmp_path / name, scratch=tmp_path / "s") for name in ("before", "lexicon"))
    assert answers(before) == answers(after)


def test_the_mean_length_is_a_constant_of_the_index(tmp_path: Path) -> None:
    """The engine's explanation shows it, also after deletes and a merge that purges them."""
    writer = LexiconWriter.create(tmp_path / "lexicon")
    rng = random.Random(2)
    for part in range(10):
        texts = [said(rng, rng.choice((1, 7, 90, 400))) for _ in range(20)]
        writer.upsert(
            [entry(part * 20 + n, "t", text, expansions=(text[:30],)) for n, text in enumerate(texts)]
        )
        writer.commit()
        writer.delete(list(range(part * 20, part * 20 + 15)))
        writer.commit()
    writer.close()
    assert documents_and_deleted(tmp_path / "lexicon")[0] < 10 * 20 * 2, "no segment with deletes was merged"
    reader = LexiconReader(tmp_path / "lexicon", scratch=tmp_path / "scratch")
    means = lexicon_means(reader)
    assert means == pytest.approx(dict(TYPICAL), rel=2**-22)


def lexicon_means(reader: LexiconReader) -> dict[str, float]:
    """Mean length of each field, from the engine's explanation."""
    means = {}
    for field in TYPICAL:
        query = Query.term_query(reader._schema, field, "=", "freq")
        place = reader._searcher.search(query, limit=1, count=False).hits[0][1]
        told = query.explain(reader._searcher, place).to_json()
        line = told[: told.index("avgdl, average")].rsplit('"value":', 1)[1]
        means[field] = float(line.split(",", 1)[0])
    return means


@given(st.tuples(*(st.integers(0, 3_000) for _ in TYPICAL)))
@settings(max_examples=examples(100), deadline=None, derandomize=True, database=None)
def test_a_document_and_its_companions_have_the_typical_length(lengths: tuple[int, ...]) -> None:
    """In every field, with lengths that are stored exactly; a document never gets shorter."""
    written, companions = padded(lengths)
    for at, typical in enumerate(TYPICAL.values()):
        every = [written[at], *(companion[at] for companion in companions)]
        assert sum(every) == typical * len(every)
        assert set(every) <= set(KEPT)
        assert lengths[at] <= written[at] <= lengths[at] + max(typical / 4, lengths[at] / 7)


def test_a_piece_of_a_document_with_its_neighbours_has_few_companions(tmp_path: Path) -> None:
    """With 300 characters before and after it and questions; words in those have nearly full weight."""
    writer = LexiconWriter.create(tmp_path / "lexicon")
    rng = random.Random(4)
    around = " ".join(f"{said(rng, 50)} {'harbour' if side else ''}" for side in range(2))
    assert len(around) > 600
    writer.upsert([entry(0, "acme", said(rng, 50), context=around, expansions=(said(rng, 24),))])
    writer.upsert([entry(1, "acme", said(rng, 54) + " harbour")])
    writer.commit()
    assert writer.copies == 2, "one companion of each"
    writer.close()
    hits = LexiconReader(tmp_path / "lexicon", scratch=tmp_path / "s").search("harbour", ACME, limit=2)
    assert hits.ordinals.tolist() == [1, 0]
    assert hits.scores[1] > 0.4 * hits.scores[0], "a section has the weight .6"


def test_a_score_at_a_rounding_boundary_is_computed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The score from term counts equals the engine's, up to the engine's rounding."""
    writer = LexiconWriter.create(tmp_path / "lexicon")
    writer.upsert(of_acme(range(30)))
    writer.commit()
    reader = LexiconReader(tmp_path / "lexicon", scratch=tmp_path / "scratch")
    rounded = [reader.search(query, ACME, limit=LIMIT) for query in QUERIES]
    monkeypatch.setattr(ScoredQuery, "bounds", lambda _, scores: (scores * 0.999, scores * 1.001))
    monkeypatch.setattr(lexicon_scores, "on_grid", lambda scores: scores)
    for query, before in zip(QUERIES, rounded, strict=True):
        exact = reader.search(query, ACME, limit=LIMIT)
        assert on_grid(exact.scores.astype(np.float64)).tolist() == pytest.approx(before.scores.tolist())
        assert exact.ordinals.tolist()[:1] == before.ordinals.tolist()[:1]


def test_only_scores_near_the_middle_of_two_values_are_doubtful() -> None:
    """Bounds differ around the middle of two neighbouring values, at any magnitude."""
    step = 2.0**-lexicon_scores.BITS
    term = WeightedTerm("text", "key of scope:otter", 1.0, 1.0, 1)
    query = ScoredQuery(lexicon_schema(), Query.all_query(), [term])
    for size in (0.25, 1.0, 64.0):
        middle = size * (0.5 + 1.5 * step)
        scores = np.array([middle, middle * (1 + 5e-7), middle * (1 - 5e-7), middle * (1 + 1e-5)])
        low, high = query.bounds(scores)
        assert (low < high).tolist() == [True, True, True, False]
        assert on_grid(np.array([size * (0.5 + step)])).tolist() == [size * (0.5 + step)]


def test_ties_go_to_the_lowest_ordinals(tmp_path: Path) -> None:
    """Equal texts are ordered by ordinal, not by their place in the index."""
    writer = LexiconWriter.create(tmp_path / "lexicon")
    for first in (60, 30, 0):
        writer.upsert([entry(first + n, "acme", "quiet harbour") for n in range(30)])
        writer.commit()
    reader = LexiconReader(tmp_path / "lexicon", scratch=tmp_path / "scratch")
    assert reader.search("harbour", ACME, limit=5).ordinals.tolist() == [0, 1, 2, 3, 4]
