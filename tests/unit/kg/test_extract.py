"""kg's rules: which links follow from a memory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_kg.extract import Link, extract
from helix_kg.resolve import LINKS, resolve
from tests.unit.kg.rows import row


def weights(links: list[Link]) -> dict[tuple[str, str], float]:
    """Weight by edge and entity."""
    return {(link.edge, link.name): link.weight for link in links}


def test_a_title_defines_its_entity_with_and_without_disambiguation() -> None:
    """A title weighs three mentions; the form without parenthesis is defined as well."""
    links = resolve(extract(row("He was a bishop.", title="Theodred II (Bishop of Elmham)")))
    assert weights(links) == {
        ("MENTIONS", "theodred ii (bishop of elmham)"): 3.0,
        ("MENTIONS", "theodred ii"): 3.0,
        ("MENTIONS", "bishop of elmham"): 1.0,
    }
    assert [link.kind for link in links] == ["title", "title", "name"]


def test_document_categories_and_speaker_are_links_of_their_own() -> None:
    """A document holds its memories, a category files them, a speaker says them."""
    links = extract(
        row("hello there", speaker="Caroline", document_id="Doc-1", categories=["Travel Plans", " "])
    )
    assert [
        Link("MENTIONS", "name", "caroline", "Caroline", 0.5),
        Link("PART_OF", "document", "Doc-1", "Doc-1", 0.5),
        Link("IN_CATEGORY", "category", "travel plans", "Travel Plans", 0.3),
    ] == links


def test_a_path_is_known_by_its_file_name_too() -> None:
    """Half a mention for the file name, so that login.py finds src/auth/login.py."""
    links = extract(row("edited src/auth/login.py"))
    assert weights(links) == {("MENTIONS", "src/auth/login.py"): 1.0, ("MENTIONS", "login.py"): 0.5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("OldThing was renamed to NewThing.", ["oldthing", "newthing"]),
        ("Since May, ruff_lint replaces flake8_lint in CI.", ["ruff_lint", "flake8_lint"]),
        ("Beatrice married Henry of Battenberg.", ["beatrice", "henry of battenberg"]),
        ("OldThing is fine. NewThing is fine.", []),
        ("It was renamed to NewThing.", []),
        ("OldThing went away. It was renamed to NewThing.", []),
    ],
)
def test_a_stated_relation_joins_both_sides(text: str, expected: list[str]) -> None:
    """The last name before the verb and the first after it, inside one sentence."""
    assert expected == [link.name for link in extract(row(text)) if link.edge == "RELATES"]


def test_coding_agent_text_yields_its_software() -> None:
    """What a coding agent talks about: paths, symbols, errors, versions, issues."""
    text = "pytest failed with KeyError in helix_kg/extract.py; pinned numpy==2.1.0, see #42 and `resolve()`."
    assert [(link.kind, link.name) for link in extract(row(text))] == [
        ("error", "keyerror"),
        ("path", "helix_kg/extract.py"),
        ("path", "extract.py"),
        ("version", "numpy 2.1.0"),
        ("issue", "#42"),
        ("symbol", "resolve"),
    ]


@given(
    st.text(max_size=300),
    st.text(max_size=80),
    st.text(max_size=30),
    st.lists(st.text(max_size=20), max_size=4),
)
def test_no_memory_breaks_extraction(text: str, title: str, speaker: str, categories: list[str]) -> None:
    """Any row gives the same valid links twice."""
    memory = row(text, title=title, speaker=speaker, categories=categories)
    links = resolve(extract(memory))
    assert links == resolve(extract(memory))
    assert len(links) <= LINKS
    assert len(links) == len({(link.edge, link.name) for link in links})
    assert all(link.name and link.weight > 0 for link in links)


def test_names_of_the_context_are_found_in_lower_case_with_their_signs() -> None:
    """With an apostrophe, a hyphen, an accent, and as possessors."""
    context = "O'Brien: yes\nJean-Luc: no\nJos\u00e9: why\nAlice: so"
    found = extract(row("i saw o\u2019brien, jean-luc, jos\u00e9 and alice's dog", context=context))
    assert {link.name for link in found} == {"o'brien", "jean-luc", "jose", "alice"}
