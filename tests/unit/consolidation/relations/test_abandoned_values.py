"""Changes that name the value given up: how they are found, and what they are linked to."""

import pytest

from helix_consolidation.relations.abandoned_values import (
    ABANDONS,
    MIN_ABANDONED_PROBABILITY,
    abandoned_value,
    abandoned_values,
)
from tests.unit.consolidation.relations.test_decide import decided, said


@pytest.mark.parametrize(
    ("text", "value", "replacement"),
    [
        ("Yusuf moved us off Fly to Hetzner because of the egress bill", ("fly",), "hetzner"),
        ("we switched from GitLab CI to Buildkite", ("gitlab", "ci"), "buildkite"),
        ("Replaced Redux with Zustand in the dashboard", ("redux",), "zustand"),
        ("ditched Notion for Obsidian", ("notion",), "obsidian"),
        ("migrating the reports from our Snowflake over to DuckDB", ("snowflake",), "duckdb"),
    ],
)
def test_a_change_names_the_value_given_up(text: str, value: tuple[str, ...], replacement: str) -> None:
    """With the first word of its replacement."""
    assert abandoned_value(text) == (value, replacement)


@pytest.mark.parametrize(
    "text",
    [
        "the meeting moved from Tuesday to Thursday",
        "the rent changed from 720 to 760",
        "I moved from here to there",
        "we walked from Ghent to Bruges",
        "replaced the battery with a new one",
    ],
)
def test_times_numbers_and_everyday_words_are_no_names(text: str) -> None:
    """Quantities are compared elsewhere, and everyday words are held by too many statements."""
    assert abandoned_value(text) is None


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("we use Zustand instead of Redux in the app", {"redux"}),
        ("moved from Redux to Zustand", {"redux"}),
        ("the stand-up is at 10:00 rather than 9:30", {"9:30"}),
        ("no longer on Mondays, no more coffee", {"monday", "coffe"}),
        ("we use Redux", set()),
        ("we went back to Redux", set()),
    ],
)
def test_values_that_a_text_says_were_left(text: str, left: set[str]) -> None:
    """As stems and as values, also times and everyday words."""
    assert left <= abandoned_values(text)
    assert bool(left) is bool(abandoned_values(text))


def test_what_names_the_value_left_is_linked_and_stays_open() -> None:
    """It may say more than what was replaced."""
    older = said("Project Heron: the invoicing service, Postgres 15, FastAPI, deployed on Fly")
    other = said("the Hetzner and Fly bills are due on Friday")
    found = decided(said("Yusuf moved us off Fly to Hetzner because of the egress bill", 30), older, other)
    assert found[0].relation == "UPDATES"
    assert found[0].probability >= MIN_ABANDONED_PROBABILITY
    assert ABANDONS in found[0].evidence
    assert not found[0].closes
    assert 1 not in found or ABANDONS not in found[1].evidence


@pytest.mark.parametrize(
    "text",
    [
        "should we move from Fly to Hetzner?",
        "we're thinking about moving from Fly to Hetzner",
        "Yusuf suggested to move from Fly to Hetzner",
        "maybe we move from Fly to Hetzner",
    ],
)
def test_a_change_that_is_only_weighed_is_not_linked_by_it(text: str) -> None:
    """Questions, thoughts and proposals change nothing."""
    found = decided(said(text, 30), said("Heron is deployed on Fly"))
    assert all(ABANDONS not in one.evidence for one in found.values())
