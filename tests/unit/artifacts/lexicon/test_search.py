"""Searches of the lexicon: words, fields, hostile text, limits and files."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.lexicon import query as lexicon_query
from helix_shared.artifacts.lexicon.definition_tokens import sought_tokens
from helix_shared.artifacts.lexicon.query import FieldWeights, OrdinalSet
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.artifacts.lexicon.scores import K1, B
from helix_shared.artifacts.lexicon.writer import LexiconEntry, LexiconWriter
from helix_shared.errors import CorruptArtifactError, InvalidInputError

ACME = Selection("acme")


def entry(ordinal: int, **given: Any) -> LexiconEntry:
    """A visible document of tenant acme."""
    plain: dict[str, Any] = {
        "tenant_id": "acme",
        "owner": "",
        "audience": ("*",),
        "type": "episodic",
        "project_id": "",
        "session_id": "s",
        "event_at": ordinal,
        "text": "",
    }
    return LexiconEntry(ordinal=ordinal, **plain | given)


@pytest.fixture
def writer(tmp_path: Path) -> LexiconWriter:
    """An empty index."""
    return LexiconWriter.create(tmp_path / "lexicon")


def read(tmp_path: Path, writer: LexiconWriter, *entries: LexiconEntry) -> LexiconReader:
    """Commit the entries and open the index."""
    writer.upsert(entries)
    writer.commit()
    return LexiconReader(tmp_path / "lexicon", scratch=tmp_path / "scratch")


def found(reader: LexiconReader, query: str, **options: Any) -> list[int]:
    """Ordinals of the best hits."""
    ordinals: list[int] = reader.search(query, ACME, limit=10, **options).ordinals.tolist()
    return ordinals


def test_words_are_found_stemmed_and_in_any_case(tmp_path: Path, writer: LexiconWriter) -> None:
    """Documents and queries have the same analyser."""
    reader = read(tmp_path, writer, entry(0, text="She was RUNNING marathons"), entry(1, text="a quiet day"))
    assert found(reader, "who runs a Marathon?") == [0]
    assert reader.terms("She was RUNNING the marathons, running", reader.scopes(Selection("acme"))) == [
        "run",
        "marathon",
    ]


def test_speaker_and_title_are_searched_with_the_text(tmp_path: Path, writer: LexiconWriter) -> None:
    """Speaker and title are in the field of the text."""
    reader = read(
        tmp_path, writer, entry(0, text="likes tea", speaker="Caroline"), entry(1, text="x", title="Pottery")
    )
    assert found(reader, "caroline") == [0]
    assert found(reader, "pottery") == [1]


def test_field_weights_decide_between_fields(tmp_path: Path, writer: LexiconWriter) -> None:
    """The same word counts 1, .6 and .3 in text, context and expansions; a weight of 0 does not count."""
    reader = read(
        tmp_path,
        writer,
        entry(0, expansions=("otter",)),
        entry(1, context="otter"),
        entry(2, text="otter"),
    )
    hits = reader.search("otter", ACME, limit=3)
    assert hits.ordinals.tolist() == [2, 1, 0]
    # terms as written: 8 of 64 in text, 8 of 72 in what surrounds a text, 1 of 16 in expansions
    expected = [
        weight / (1 + K1 * (1 - B + B * length))
        for weight, length in ((1, 8 / 64), (0.6, 8 / 72), (0.3, 1 / 16))
    ]
    shares = hits.scores / hits.scores[0]
    assert shares.tolist() == pytest.approx([value / expected[0] for value in expected], rel=2**-11)
    assert found(reader, "otter", weights=FieldWeights(text=0, context=0, section=0)) == [0]


def test_search_all_words_finds_texts_with_every_word(tmp_path: Path, writer: LexiconWriter) -> None:
    """In any order and form, in the field text only; no hits if a word occurs nowhere."""
    reader = read(
        tmp_path,
        writer,
        entry(0, text="The otter swims in a river and eats fish."),
        entry(1, text="Otters were eating a fish."),
        entry(2, text="An otter swims.", context="it eats fish"),
        entry(3, text="Otters eat fish.", tenant_id="other"),
    )
    assert sorted(reader.search_all_words("fish that otters eat", ACME, limit=9).ordinals.tolist()) == [0, 1]
    assert reader.search_all_words("fish that otters eat", Selection("other"), limit=9).ordinals.tolist() == [
        3
    ]
    assert len(reader.search_all_words("fish that otters eat", ACME, limit=1)) == 1
    assert len(reader.search_all_words("otter fish zebra", ACME, limit=9)) == 0
    assert len(reader.search_all_words("fish and otters", ACME, limit=9)) == 0, "two words are no text"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexicon_query, "MAX_ALL_WORDS_DOCUMENTS", 1)
        assert len(reader.search_all_words("fish that otters eat", ACME, limit=9)) == 0
    assert len(reader.search_all_words("the of and", ACME, limit=9)) == 0
    with pytest.raises(InvalidInputError, match="limit"):
        reader.search_all_words("otter", ACME, limit=0)


def test_exact_tokens_match_as_a_whole(tmp_path: Path, writer: LexiconWriter) -> None:
    """A memory with the error code or path ranks above one that shares only its words."""
    reader = read(
        tmp_path,
        writer,
        entry(0, text="rustc says E0308 in src/auth/login.py"),
        entry(1, text="src auth login py"),
    )
    assert found(reader, "E0308") == [0]
    assert found(reader, "src/auth/login.py")[0] == 0
    only_exact = FieldWeights(text=0, context=0, section=0, expansions=0)
    assert found(reader, "what about auth/login.py", weights=only_exact) == [0]


def test_definitions_are_found_by_name(tmp_path: Path, writer: LexiconWriter) -> None:
    """As it is written or in any case, and never what only uses the name or writes its token."""
    reader = read(
        tmp_path,
        writer,
        entry(0, text="class Expression:\n    pass"),
        entry(1, text="def expression(s):\n    return Expression(s)"),
        entry(2, text="    def getoption(self, name): ...", title="src/config.py::Config.getoption"),
        entry(3, text="    def getoption(self): ...", title="expression"),
        entry(4, text='say "\x1fexpression" and \x1f\x1fexpression; expression(s); config.getoption(1)'),
        entry(5, text="def expression(): ...", tenant_id="other"),
        entry(6, text="def hidden_one(): ...", owner="ada"),
    )

    def defining(name: str, limit: int = 10, **options: Any) -> list[list[int]]:
        asked = (
            reader.with_any_token(tokens, ACME, limit=limit, **options) for tokens in sought_tokens(name)
        )
        return [hits.ordinals.tolist() for hits in asked]

    assert defining("expression") == [[1], [0]]
    assert defining("Expression") == [[0], [0, 1]]
    assert defining("EXPRESSION") == [[], [0, 1]]
    assert defining("getoption") == [[2, 3], []]
    assert defining("getoption", limit=1) == [[2], []]
    assert defining("getoption", within=OrdinalSet(below=3)) == [[2], []]
    assert defining("hidden_one") == defining("absent") == defining("") == [[], []]
    assert reader.with_any_token(sought_tokens("getoption")[0], ACME, limit=9).scores.tolist() == [1.0, 1.0]


def test_upsert_replaces_and_delete_removes(tmp_path: Path, writer: LexiconWriter) -> None:
    """One memory for each ordinal, none after a delete, and no change before the commit."""
    reader = read(tmp_path, writer, entry(0, text="old"), entry(1, text="other"))
    writer.upsert([entry(0, text="fresh"), entry(0, text="newest")])
    assert writer.count == 2
    reader_before = read(tmp_path, writer)
    assert (found(reader, "old"), found(reader_before, "newest"), found(reader_before, "old")) == (
        [0],
        [0],
        [],
    )
    writer.delete([0])
    writer.commit()
    assert writer.count == 1
    assert found(read(tmp_path, writer), "newest") == []


def test_equal_scores_are_ordered_by_ordinal(tmp_path: Path, writer: LexiconWriter) -> None:
    """The order does not depend on the segments on the disk."""
    reader = read(tmp_path, writer, *(entry(ordinal, text="same words") for ordinal in (4, 2, 9, 0)))
    assert found(reader, "words") == [0, 2, 4, 9]


HOSTILE = {
    "nested brackets": "(" * 3_000,
    "balanced brackets": "(" * 3_000 + "a" + ")" * 3_000,
    "negations": "NOT " * 20_000,
    "nul and controls": "".join(map(chr, range(32))) * 50,
    "long": "x" * 100_000,
    "many words": " ".join(f"w{number}" for number in range(20_000)),
    "emoji": "👩‍👩‍👧‍👦🏳️‍🌈" * 500,
    "surrogates": "\ud800\udfff lone \udc00",
    "syntax": 'text:* AND tenant:"other" OR [a TO z] ~ ^ \\ /.*/ +a -b !c {x} |',
    "right to left": "\u202e مرحبا שלום",
    "only stop words": "who are you and what is this",
    "empty": "",
    "blank": " \n\t ",
}


@pytest.mark.parametrize("query", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_is_searched_as_text(tmp_path: Path, writer: LexiconWriter, query: str) -> None:
    """No text fails, takes long or reaches another tenant."""
    reader = read(
        tmp_path,
        writer,
        entry(0, text="plain"),
        entry(1, text=query),
        entry(2, tenant_id="other", text=query),
    )
    started = time.process_time()
    hits = reader.search(query, ACME, limit=10)
    assert set(hits.ordinals.tolist()) <= {1}
    assert time.process_time() - started < 1
    assert len(reader.terms(query, reader.scopes(Selection("acme")))) <= 48


def test_of_too_many_words_the_rarest_are_kept(tmp_path: Path, writer: LexiconWriter) -> None:
    """Words that no text holds are dropped first."""
    common = " ".join(f"common{number}" for number in range(100))
    reader = read(tmp_path, writer, *(entry(n, text=common) for n in range(3)), entry(3, text="needle"))
    terms = reader.terms(f"unseen {common} needle", reader.scopes(Selection("acme")))
    assert len(terms) == 48
    assert "needl" in terms
    assert "unseen" not in terms


def test_a_search_within_some_ordinals(tmp_path: Path, writer: LexiconWriter) -> None:
    """A range and single ordinals; other memories take no place among the hits."""
    reader = read(tmp_path, writer, *(entry(ordinal, text="an otter") for ordinal in range(40)))
    unheld = reader.search("otter", ACME, limit=40)
    for within, expected in (
        (OrdinalSet(3), [0, 1, 2]),
        (OrdinalSet(2, (30, 7)), [0, 1, 7, 30]),
        (OrdinalSet(0, (39,)), [39]),
        (OrdinalSet(0), []),
        (OrdinalSet(1, (39,), runs=((5, 6), (20, 20))), [0, 5, 6, 20, 39]),
        (OrdinalSet(99), list(range(10))),
    ):
        hits = reader.search("otter", ACME, limit=10, within=within)
        assert hits.ordinals.tolist() == expected
        assert set(hits.scores.tolist()) <= set(unheld.scores.tolist())


@pytest.mark.parametrize("limit", [0, -1, 10_001, 2**40])
def test_a_limit_out_of_bounds_is_refused(tmp_path: Path, writer: LexiconWriter, limit: int) -> None:
    """Such limits crash tantivy, so they are refused before."""
    with pytest.raises(InvalidInputError, match=r"^limit: "):
        read(tmp_path, writer, entry(0, text="a")).search("word", ACME, limit=limit)


def test_an_empty_lexicon_finds_nothing(tmp_path: Path, writer: LexiconWriter) -> None:
    """No hits and no error."""
    reader = read(tmp_path, writer)
    reader.warm()
    assert found(reader, "word") == []


def test_a_linked_commit_does_not_change_with_the_live_index(tmp_path: Path, writer: LexiconWriter) -> None:
    """Thirty later commits and their garbage collection change nothing."""
    for ordinal in range(5):
        writer.upsert([entry(ordinal, text=f"word{ordinal}")])
        writer.commit()
    writer.delete([3])
    writer.commit()
    writer.link_into(tmp_path / "linked")
    assert not list((tmp_path / "linked").glob("*.lock"))
    for ordinal in range(30):
        writer.upsert([entry(ordinal, text="changed")])
        writer.commit()
    writer.close()
    reader = LexiconReader(tmp_path / "linked", scratch=tmp_path / "scratch")
    assert reader.count == 4
    assert [found(reader, f"word{ordinal}") for ordinal in range(5)] == [[0], [1], [2], [], [4]]
    assert found(reader, "changed") == []


def test_a_read_only_folder_can_be_searched(tmp_path: Path, writer: LexiconWriter) -> None:
    """The lock file is in the scratch folder; closing the reader removes the links."""
    read(tmp_path, writer, entry(0, text="word")).close()
    writer.close()
    folder = tmp_path / "lexicon"
    before = sorted(path.name for path in folder.iterdir())
    folder.chmod(0o555)
    reader = LexiconReader(folder, scratch=tmp_path / "scratch")
    assert found(reader, "word") == [0]
    reader.close()
    folder.chmod(0o755)
    assert sorted(path.name for path in folder.iterdir()) == before
    assert list((tmp_path / "scratch").iterdir()) == []


def test_searches_from_several_threads_agree(tmp_path: Path, writer: LexiconWriter) -> None:
    """One reader is used by several threads."""
    reader = read(tmp_path, writer, *(entry(n, text=f"word number{n % 7}") for n in range(50)))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: found(reader, "word number3"), range(60)))
    assert all(answer == answers[0] for answer in answers)


def test_a_folder_without_an_index_is_corrupt(tmp_path: Path, writer: LexiconWriter) -> None:
    """A missing or damaged index is refused, and its links are removed."""
    writer.close()
    (tmp_path / "lexicon" / "meta.json").write_text("{")
    for folder in (tmp_path / "nowhere", tmp_path / "lexicon"):
        with pytest.raises(CorruptArtifactError):
            LexiconReader(folder, scratch=tmp_path / "scratch")
    assert not list((tmp_path / "scratch").glob("*"))


def test_document_frequencies_are_cached_for_each_caller(tmp_path: Path, writer: LexiconWriter) -> None:
    """A query of one user does not make the same query of another user faster."""
    reader = read(tmp_path, writer, entry(0, text="the merger"), entry(1, text="another merger"))
    ann, bob = (reader.scopes(Selection("acme", user_id=user)) for user in ("ann", "bob"))
    looked_up: Any = bob.counts
    assert ann.document_frequency("text", "merger") == 2
    before = looked_up.cache_info().misses
    assert bob.document_frequency("text", "merger") == 2
    assert looked_up.cache_info().misses == before + 1
