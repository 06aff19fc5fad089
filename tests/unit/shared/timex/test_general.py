"""What everybody should do in a season is nobody's plan for the next one."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from helix_shared.timex import find_time_expressions

NOW = datetime(2026, 12, 1, 12, tzinfo=UTC)


def certainties(text: str) -> list[str]:
    """Of the times in a text."""
    return [one.certainty for one in find_time_expressions(text, NOW)]


@pytest.mark.parametrize(
    "text",
    [
        "people should drink more water in summer",
        "In summer, people should drink more water",
        "In summer people should drink more water",
        "Everyone should drink more water in the summer.",
        "you should drink more water in summer",
        "one should drink more water in summer",
        "I think people should drink more water in summer",
        "Most people should sleep more in winter",
        "people shouldn't swim alone in winter",
        "no one should burn leaves in autumn",
        "nobody must swim there in spring",
        "one should not prune roses in December",
        "people should eat less in December",
        "People really ought to wear hats in summer.",
        "My doctor says people should avoid the sun in summer",
    ],
)
def test_a_general_statement_names_no_year(text: str) -> None:
    """It holds every summer."""
    assert certainties(text) == ["open"]


@pytest.mark.parametrize(
    "text",
    [
        "we should drink more water in summer",
        "I should call mum in summer",
        "I should renew my passport in May",
        "we should visit Porto in the summer",
        "we should move the meeting to Friday",
        "we should move the launch to December",
        "she should finish in summer",
        "Ana and Ben should move in summer",
        "the bridge should reopen in spring",
        "they should be back in January",
        "the kids should learn to swim in summer",
        "you should come visit us in summer",
        "you should visit Porto in May",
        "you should call mum on Friday",
        "you should start in summer",
        "everyone should bring a salad on Saturday",
        "everyone should be there on 4 December",
        "everyone should file the report in April",
        "everyone should come to the lake next summer",
        "people should vote on Tuesday",
        "people will gather in December",
        "our people should arrive in summer",
        "two people should come in May",
        "the new one should be ready in summer",
        "this one should arrive in December",
        "What should people drink in summer?",
    ],
)
def test_a_plan_is_for_the_next_one(text: str) -> None:
    """Somebody certain does it, or the date is one."""
    [found] = find_time_expressions(text, NOW)
    assert found.certainty == "stated"
    assert found.end > NOW
