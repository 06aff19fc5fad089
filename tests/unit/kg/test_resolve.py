"""kg's second step: one link per entity, the heaviest first."""

from __future__ import annotations

from helix_kg.extract import Link
from helix_kg.resolve import resolve


def mention(surface: str, *, weight: float = 1.0, kind: str = "name", edge: str = "MENTIONS") -> Link:
    """A link to the entity of this surface."""
    return Link(edge, kind, surface.lower(), surface, weight)


def names(links: list[Link]) -> list[str]:
    """Canonical names in order."""
    return [link.name for link in links]


def test_repeats_become_one_link_of_the_greatest_weight() -> None:
    """Three mentions of a title's entity are the title's link."""
    links = [mention("Paris", weight=3.0, kind="title"), mention("Paris"), mention("Rome"), mention("Rome")]
    assert [mention("Paris", weight=3.0, kind="title"), mention("Rome")] == resolve(links)


def test_a_short_form_is_the_full_name_before_it() -> None:
    """Surname and first name both resolve to the only full name that contains them."""
    links = [mention("John Smith"), mention("Smith"), mention("John"), mention("Rome")]
    assert names(resolve(links)) == ["john smith", "rome"]
    assert names(resolve([mention("Anna O'Brien"), mention("O'Brien")])) == ["anna o'brien"]


def test_a_short_form_of_two_full_names_stays_itself() -> None:
    """Guessing between John and Jane Smith would join what is apart."""
    links = [mention("John Smith"), mention("Smith"), mention("Jane Smith"), mention("Smith")]
    assert names(resolve(links)) == ["john smith", "smith", "jane smith"]


def test_a_short_form_before_its_full_name_stays_itself() -> None:
    """Only what was introduced in full is shortened afterwards."""
    assert names(resolve([mention("Paris"), mention("Paris Hilton")])) == ["paris", "paris hilton"]


def test_a_name_with_a_connective_has_no_short_form() -> None:
    """Elmham is a place, not its bishop."""
    assert names(resolve([mention("Bishop of Elmham"), mention("Elmham")])) == ["bishop of elmham", "elmham"]


def test_edges_to_the_same_entity_stay_apart() -> None:
    """A relation does not swallow the mention."""
    links = [mention("A_b"), mention("A_b", edge="RELATES")]
    assert links == resolve(links)


def test_the_heaviest_links_survive_the_cap_in_text_order() -> None:
    """Weight first, then the order of the text."""
    links = [mention(f"n{i}") for i in range(5)] + [mention("top", weight=3.0)]
    assert names(resolve(links, limit=3)) == ["top", "n0", "n1"]
