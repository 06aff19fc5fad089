"""Names of one memory: persons beside places, and names that the turns around have in upper case."""

from __future__ import annotations

from typing import Any

import pytest

from helix_kg.extract import extract
from helix_kg.resolve import resolve
from helix_shared.artifacts.graph.snapshot import entity_key
from tests.unit.kg.rows import row


def linked(text: str, **fields: Any) -> dict[str, str]:
    """Kind by name of what a memory of this text is linked to."""
    return {link.name: link.kind for link in resolve(extract(row(text, **fields)))}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Paris Hilton visited Paris.", {"paris hilton": "name", "paris": "place"}),
        ("Jordan Baker flew to Jordan in spring.", {"jordan baker": "name", "jordan": "place"}),
        (
            "Sydney Osei moved from Sydney to Accra.",
            {"sydney osei": "name", "sydney": "place", "accra": "name"},
        ),
        ("Chelsea Mwangi rents a flat in Chelsea.", {"chelsea mwangi": "name", "chelsea": "place"}),
        ("Mary Smith sang. Smith also danced in May.", {"mary smith": "name"}),
        ("We gave Rui Matos a lift, and Rui paid.", {"rui matos": "name"}),
    ],
)
def test_a_place_is_no_short_form_of_a_person(text: str, expected: dict[str, str]) -> None:
    """Two entities for a person and a place of one name, one for a person and the short form."""
    assert linked(text) == expected


def test_a_name_of_the_turns_around_is_known_in_lower_case() -> None:
    """Names and speakers of the context, which holds what everybody who may recall the memory may recall."""
    context = "Wanda: Ludek and Tae-Min fixed the van\nuser: thanks"
    assert linked("tae-min says wanda paid ludek", context=context) == {
        "tae-min": "name",
        "wanda": "name",
        "ludek": "name",
    }
    assert linked("tae-min says wanda paid ludek") == {}


def test_a_common_word_is_no_name_because_the_context_has_it_in_upper_case() -> None:
    """A person called Rose in the context does not make the flower a person."""
    assert linked("the rose needs water", context="Wanda: we met Rose") == {}


def test_what_the_context_alone_mentions_is_not_linked() -> None:
    """Only words of the memory itself are names of it."""
    assert linked("he paid", context="Wanda: Ludek fixed the van") == {}


def test_entities_and_categories_belong_to_their_tenant() -> None:
    """The same name, or the same tag, of two tenants is two entities."""
    assert entity_key("t1", "ludek") != entity_key("t2", "ludek")
    assert linked("hello there", categories=["Travel"]) == {"travel": "category"}
