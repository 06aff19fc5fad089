"""Hostile texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pytest

from tests.unit.linear_time import Mixture, Shape

UNITS: Final = {
    "newlines": "\n",
    "blank lines": " \n",
    "spaces": " ",
    "tabs": "\t",
    "no-break spaces": "\u00a0",
    "digits": "1",
    "dotted letters": "a.",
    "capitalised words": "Aa ",
    "short words": "a ",
    "one long word": "a",
    "capitals": "A",
    "double quotes": '"',
    "quoted words": '"A ',
    "backticks": "`",
    "closing brackets": ")]}",
    "paths": "/a",
    "back slashes": "\\a",
    "underscores": "_",
    "snake case": "a_",
    "dashes": "-",
    "dashed words": "a-",
    "scopes": "a::b",
    "assignments": "a=",
    "between": "and between 1 ",
    "last week": "last week ",
    "from to": "from 1 May to ",
    "to x": "to x, ",
    "set to": "we set a to b ",
    "caused by": "A was caused by b ",
    "mixed Chinese": "\u6771\u4eac\u306f a",
    "kana and marks": "\uff76\uff9e\u0301",
    "zero width": "\u200b",
    "combining marks": "\u0301\u0323",
    "accented letters": "e\u0301",
    "emoji": "\U0001f600",
    "question marks": "?",
    "short questions": "a? ",
    "commas": "a, ",
    "closed headings": "# # ",
    "code fences": "```\n",
    "fences and headings": "```\n# a\n",
    "front matter": "---\n",
    "exit codes": "Exit code: 1\n",
    "opened tags": "<system-reminder>",
    "opened folders": "<cwd>",
    "errors": "Error",
    "bars": "|a",
}


SHAPES: Final = (
    *(Shape(name, "a", unit) for name, unit in UNITS.items()),
    Shape("spaces behind a heading", "# a", " "),
    Shape("spaces behind a title", "title: a", " "),
    Shape("tabs behind a number", "1.", "\t"),
    Shape("spaces behind a sentence", "a. ", " "),
)


MIXTURES: Final = tuple(Mixture(SHAPES[at : at + 5]) for at in range(0, len(SHAPES), 5))
WORST: Final = ("newlines", "blank lines", "spaces", "digits", "one long word", "combining marks")
"""Shapes that come alone as well where every shape alone would take too long."""


@pytest.fixture
def mixtures() -> Sequence[Mixture]:
    """All shapes, a few to a text: a text that is walked needs fewer runs so."""
    return MIXTURES


@pytest.fixture
def mixtures_and_worst() -> Sequence[Mixture | Shape]:
    """The same, and the worst shapes alone."""
    return (*MIXTURES, *(shape for shape in SHAPES if shape.name in WORST))
