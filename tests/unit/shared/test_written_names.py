"""How a text writes a name of which the canonical form is known."""

from __future__ import annotations

import pytest

from helix_shared.naming import canonical, find_names, written_form
from tests.unit.linear_time import Linear, Shape, repeated


@pytest.mark.parametrize(
    ("name", "text", "form"),
    [
        ("zoe angstrom", "with Zo\u00eb \u00c5ngstr\u00f6m's help", "Zo\u00eb \u00c5ngstr\u00f6m"),
        ("zoe", "Zoe\u0308, not Joe", "Zoe\u0308"),
        ("sao paulo", "sao paulo first, then S\u00e3o\n Paulo", "S\u00e3o Paulo"),
        ("marta delgado", "marta delgado said so", "marta delgado"),
        ("alps", "The Alps.", "Alps"),
        ("strasse", "die Stra\u00dfe", "Stra\u00dfe"),
        ("ana", "a banana, Ana", "Ana"),
        ("getoption", "call getOption()", "getOption"),
        ("http 503", "HTTP 503", "HTTP 503"),
        ("jean-luc", "Jean\u2010Luc", "Jean\u2010Luc"),
        ("\u6771\u4eac", "\u6771\u4eac \u3067", "\u6771\u4eac"),
    ],
)
def test_the_form_has_its_capitals_and_accents(name: str, text: str, form: str) -> None:
    """Of several places, the first that has any."""
    assert written_form(name, text) == form


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("2026-12-05", "on Friday"),
        ("http 503", "status: 503"),
        ("ana", "banana"),
        ("ana", ""),
        ("far", "x" * 8_000 + " Far"),
        ("e", "e" + "\u0301" * 300),
    ],
)
def test_what_is_not_written_has_no_form(name: str, text: str) -> None:
    """What is only meant, part of a word, far behind, or a heap of accents."""
    assert written_form(name, text) == ""


def test_the_form_of_every_name_that_a_text_gives_has_this_canonical_name() -> None:
    """Whatever the rules find."""
    text = (
        "Zo\u00eb \u00c5ngstr\u00f6m moved src/App/Loader.py to v2.1.3 (see #42, ENOENT) for the Alps of "
        "S\u00e3o Paulo; \u201cPolish Summer\u201d by Jan Nowak's CartStore, McKinsey & Co. "
        "and pip install requests==2.31"
    )
    found = {name.name: written_form(name.name, text) for name in find_names(text)}
    assert {"zoe angstrom", "src/app/loader.py", "jan nowak", "cartstore", "#42"} <= found.keys()
    assert all(canonical(form) == name for name, form in found.items() if form)
    assert found["src/app/loader.py"] == "src/App/Loader.py"


@pytest.mark.parametrize("piece", ["a ", "\u00e1 ", "a", " ", "\u0301", "a\u0301 ", "'", "\ufb01 "])
@pytest.mark.parametrize("name", ["a", "a a", "a a a a a a a a b", "fi"])
def test_hostile_texts_take_linear_time(piece: str, name: str, linear_beginnings: Linear) -> None:
    """So much of a text is read, and no more."""
    texts = [*repeated(piece), Shape(f"A and {piece!r}", "A", piece)]
    assert not linear_beginnings.failures(lambda text: written_form(name, text), texts=texts)
