"""Source code is split at syntax boundaries."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from helix_ingest.extraction.documents.code import code_pieces
from helix_ingest.extraction.documents.languages import language_of
from tests.unit.linear_time import Linear, repeated

PYTHON = '''"""Ledger of a workshop."""

import decimal


# Books an order.
@audited
def book(order, ledger):
    """Book it."""
    ledger.append(order)
    return len(ledger)


class Ledger:
    """All orders, größter zuerst."""

    def total(self, since):
        """Sum since a day."""
        return sum(order.price for order in self.orders if order.day >= since)

    def close(self):
        """Close the year."""
        self.open = False
'''


def words(text: str) -> int:
    """A token is a word in these tests."""
    return len(text.split())


def test_functions_stay_whole_with_their_decorators_and_comments() -> None:
    """A class that does not fit is split at its methods, whose heading names the class."""
    pieces = code_pieces(PYTHON, "python", most_tokens=18, count_tokens=words)
    shown = {p.text.strip().splitlines()[0]: p for p in pieces}
    assert shown["# Books an order."].text.endswith("return len(ledger)")
    assert shown["def total(self, since):"].heading == "class Ledger"
    assert shown["def total(self, since):"].text.endswith("order.day >= since)")
    assert shown["def close(self):"].text.startswith("    def close")
    assert all(PYTHON[p.start : p.end] == p.text for p in pieces)


@pytest.mark.parametrize(
    ("language", "text", "starts"),
    [
        ("javascript", "export function a() {\n  one();\n}\n\nclass B {\n  c() {\n    two();\n  }\n}\n",
         ["export function a() {", "class B {"]),
        ("typescript", "interface A {\n  b: string;\n}\nexport const c = () => {\n  d();\n};\n",
         ["interface A {", "export const c = () => {"]),
        ("go", "package a\n\n// B adds.\nfunc B() {\n\tc()\n}\n\ntype D struct {\n\te int\n}\n",
         ["package a", "// B adds.", "type D struct {"]),
        ("rust", "#[test]\nfn a() {\n    b();\n}\n\nimpl C {\n    fn d() {}\n}\n", ["#[test]", "impl C {"]),
        ("java", "class A {\n  int b;\n}\n\nclass C {\n  void d() { e(); }\n}\n", ["class A {", "class C {"]),
    ],
)  # fmt: skip
def test_every_grammar_splits_at_definitions(language: str, text: str, starts: list[str]) -> None:
    """One piece per definition."""
    pieces = code_pieces(text, language, most_tokens=9, count_tokens=words)
    assert [p.text.splitlines()[0] for p in pieces] == starts


@pytest.mark.parametrize(
    ("media_type", "source_uri", "title", "language"),
    [
        ("text/plain", "https://git.example.org/a/main.go?ref=x", "", "go"),
        ("text/plain", "file:///src/App.TSX", "", "tsx"),
        ("text/typescript", "file:///src/App.tsx", "", "tsx"),
        ("text/plain", "", "lib/tools.rs", "rust"),
        ("text/plain", "https://example.org/page.html", "read main.py", ""),
        ("text/markdown", "file:///src/a.py", "", ""),
        ("text/x-java", "", "", "java"),
        ("text/plain", "http://[broken", "a.py", ""),
    ],
)
def test_language_by_type_or_ending(media_type: str, source_uri: str, title: str, language: str) -> None:
    """The media type decides; for plain text the ending of the path, then of the title."""
    assert language_of(media_type, source_uri, title) == language


@given(st.text(alphabet=st.sampled_from("ab ()\n{}:#é'\r"), max_size=200), st.integers(1, 8))
def test_pieces_cover_any_text_in_order(text: str, most: int) -> None:
    """Every character except white space is in exactly one piece, and the offsets are right."""
    for language in ("python", "rust"):
        pieces = code_pieces(text, language, most_tokens=most, count_tokens=words)
        assert "".join("".join(p.text.split()) for p in pieces) == "".join(text.split())
        assert all(text[p.start : p.end] == p.text for p in pieces)
        assert all(a.end <= b.start for a, b in pairwise(pieces))


@pytest.mark.parametrize("piece", ["(", "if x:\n", "def f():\n ", "'"])
def test_hostile_code_takes_linear_time(piece: str, linear_functions: Linear) -> None:
    """Code that never closes."""
    assert not linear_functions.failures(
        lambda text: code_pieces(text, "python", most_tokens=200, count_tokens=lambda one: len(one) // 4),
        texts=repeated(piece),
    )
