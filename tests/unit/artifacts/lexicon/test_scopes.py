"""Scopes: hits and scores of a caller do not depend on what the caller may not see."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from helix_shared.artifacts.filter.scopes import KEY_CHARACTERS, scope_key, scopes_of
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.lexicon.analysis import idf
from helix_shared.artifacts.lexicon.lengths import TYPICAL
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.artifacts.lexicon.scopes import OpenScopes
from helix_shared.artifacts.lexicon.scores import K1, B, ScoredQuery
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter

ACME = Selection("acme")
PLENTY = 50


def entry(ordinal: int, text: str, **given: Any) -> LexiconEntry:
    """A document of tenant acme that everyone sees."""
    plain: dict[str, Any] = {
        "tenant_id": "acme",
        "owner": "",
        "audience": ("*",),
        "type": "episodic",
        "project_id": "",
        "session_id": "s",
        "event_at": ordinal,
    }
    return LexiconEntry(ordinal=ordinal, text=text, **plain | given)


def read(folder: Path, *entries: LexiconEntry) -> LexiconReader:
    """An index of these entries."""
    writer = LexiconWriter.create(folder / "lexicon")
    writer.upsert(entries)
    writer.commit()
    return LexiconReader(folder / "lexicon", scratch=folder / "scratch")


def scores(reader: LexiconReader, query: str, selection: Selection) -> dict[int, float]:
    """Scores by ordinal."""
    hits = reader.search(query, selection, limit=PLENTY)
    return dict(zip(hits.ordinals.tolist(), hits.scores.tolist(), strict=True))


def test_scopes_have_different_keys() -> None:
    """A letter moved from one part to the next gives another key."""
    keys = {
        scope_key("ab", "c", "d"),
        scope_key("a", "bc", "d"),
        scope_key("ab", "cd", ""),
        scope_key("ab", "", "cd"),
    }
    assert len(keys) == 4
    assert {len(key) for key in keys} == {KEY_CHARACTERS}


def test_a_list_with_everyone_has_one_scope() -> None:
    """Another list has one scope for each distinct name."""
    assert scopes_of("acme", "", ["ops", "*"]) == (scope_key("acme", "", "*"),)
    assert scopes_of("acme", "", ["ops", "dev", "ops"]) == (
        scope_key("acme", "", "ops"),
        scope_key("acme", "", "dev"),
    )


def test_the_boost_replaces_the_idf_of_the_engine() -> None:
    """20 of 1,000 documents are in the scopes; 4 in one and 1 in another hold the word."""
    shared, own = scope_key("acme", "", "*"), scope_key("acme", "ada", "*")
    counts = {
        ("scope", shared): 15,
        ("scope", own): 5,
        ("text", shared + "port"): 4,
        ("text", own + "port"): 1,
    }

    def frequency(field: str, term: str) -> int:
        return counts.get((field, term), 0)

    scopes = OpenScopes.of(
        Selection("acme", "ada"), documents=1_000, frequency=frequency, undeleted=frequency
    )
    assert (scopes.size, scopes.document_frequency("text", "port")) == (20, 5)
    # ln(1 + 15.5 / 5.5) = 1.3399; ln(1 + 996.5 / 4.5) = 5.4047; ln(1 + 999.5 / 1.5) = 6.5033
    assert {one.term: one.boost for one in scopes.terms("text", "port")} == pytest.approx(
        {shared + "port": 1.3399 / 5.4047, own + "port": 1.3399 / 6.5033}, rel=1e-4
    )
    weighed = [one.weight for one in scopes.terms("text", "port", 0.5)]
    assert weighed == pytest.approx([0.5 * 1.3399] * 2, rel=1e-4)
    assert not list(scopes.terms("text", "nowhere"))


def test_a_score_equals_that_in_an_index_of_what_the_caller_sees(tmp_path: Path) -> None:
    """Equal to the last bit, with any documents of other tenants."""
    mine = [entry(0, "port staging seven"), entry(1, "port billing nine"), entry(2, "cache login queue")]
    foreign = [entry(10 + n, "port port port", tenant_id="other") for n in range(40)]
    private = [entry(60 + n, "staging staging seven", owner="eve") for n in range(10)]
    closed = [entry(80 + n, "seven seven seven", audience=("ops", "dev")) for n in range(10)]
    alone = scores(read(tmp_path / "alone", *mine), "port seven staging", ACME)
    among = scores(read(tmp_path / "among", *mine, *foreign, *private, *closed), "port seven staging", ACME)
    assert set(among) == {0, 1}
    assert among == alone
    # two of three texts hold "port" once; three terms are written as eight (`lengths`)
    norm = K1 * (1 - B + B * 8 / TYPICAL["text"])
    assert alone[1] == pytest.approx(idf(2, 3) * (K1 + 1) / (1 + norm), rel=2**-12)


def test_a_caller_with_two_names_of_a_list_finds_a_memory_once(tmp_path: Path) -> None:
    """The second document of the memory takes no place among the hits."""
    listed = [entry(n, "quiet harbour", audience=("ops", "dev")) for n in range(8)]
    reader = read(tmp_path, *listed, entry(20, "quiet street"))
    assert reader.count == 9
    both = reader.search("quiet harbour", Selection("acme", principals=("ops", "dev")), limit=8)
    assert sorted(both.ordinals.tolist()) == list(range(8))
    assert len(set(np.round(both.scores, 5).tolist())) == 1
    for principals, expected in ((("ops",), 9), (("sales",), 1), ((), 1)):
        assert len(scores(reader, "quiet", Selection("acme", principals=principals))) == expected


def test_a_deleted_memory_has_no_documents(tmp_path: Path) -> None:
    """All its documents are deleted together."""
    writer = LexiconWriter.create(tmp_path / "lexicon")
    writer.upsert([entry(0, "harbour", audience=("ops", "dev", "qa")), entry(1, "harbour")])
    writer.commit()
    assert writer.count == 2
    writer.delete([0])
    writer.commit()
    assert writer.count == 1
    reader = LexiconReader(tmp_path / "lexicon", scratch=tmp_path / "scratch")
    assert list(scores(reader, "harbour", Selection("acme", principals=("qa",)))) == [1]


def test_counts_of_a_token_are_cached_for_all_scopes() -> None:
    """Several searches of a recall need them; with 64 groups a question has thousands of terms."""
    looked_up = 0

    def undeleted(field: str, term: str) -> int:
        nonlocal looked_up
        looked_up += 1
        return len(field) + len(term)

    caller = Selection("acme", "ada", principals=tuple(f"g{number}" for number in range(64)))
    scopes = OpenScopes.of(caller, documents=1_000, frequency=lambda *_: 90, undeleted=undeleted)
    assert len(scopes.sizes) == 2 * (1 + 64)
    looked_up = 0
    for _ in range(3):
        found = [list(scopes.terms(field, f"w{n}")) for field in ("text", "context") for n in range(12)]
    assert {len(terms) for terms in found} == {len(scopes.sizes)}
    assert looked_up == 2 * 12 * len(scopes.sizes)


def test_a_caller_with_64_groups_gets_the_scores_of_one_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal to the bit; few scores are computed again, however many groups there are."""
    again = 0
    computed = ScoredQuery._exactly

    def counted(self: ScoredQuery, *given: Any) -> float:
        nonlocal again
        again += 1
        return computed(self, *given)

    monkeypatch.setattr(ScoredQuery, "_exactly", counted)
    rng = random.Random(5)
    words = [f"word{number}" for number in range(40)]
    groups = tuple(f"g{number}" for number in range(64))
    texts = [(" ".join(rng.choices(words, k=12)), " ".join(rng.choices(words, k=20))) for _ in range(1_500)]
    audiences = [rng.sample(groups, rng.choice((1, 1, 3))) for _ in texts]
    answers = []
    for principals in (groups, ("x", "y", "z")):
        entries = [
            entry(
                ordinal,
                text,
                context=context,
                role="user",
                owner="ada" if ordinal % 3 else "",
                audience=tuple(audience) if principals == groups else principals[: len(audience)],
            )
            for ordinal, ((text, context), audience) in enumerate(zip(texts, audiences, strict=True))
        ]
        reader = read(tmp_path / str(len(principals)), *entries)
        selection = Selection("acme", "ada", principals=principals)
        queries = [" ".join(words[first : first + 12]) for first in range(0, 40, 8)]
        found = [reader.search(query, selection, limit=PLENTY) for query in queries]
        answers.append([(hits.ordinals.tolist(), hits.scores.tobytes()) for hits in found])
    assert answers[0] == answers[1]
    assert {len(ordinals) for ordinals, _ in answers[0]} == {PLENTY}
    assert again < PLENTY / 2, "of ten searches"
