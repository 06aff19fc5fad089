"""Of a home, an employer or a partner a profile shows the latest; several values stay beside one another."""

from datetime import UTC, datetime, timedelta
from itertools import chain, permutations

import pytest

from helix_ingest.facets.find import facets_of
from helix_query.generations.indexes.facet_index import DYNAMIC, STATIC
from helix_query.recall.user_profile.lines import Statement
from helix_query.recall.user_profile.links import Links
from helix_query.recall.user_profile.merge import merged
from helix_query.recall.user_profile.single_values import values_of

START = datetime(2026, 1, 1, tzinfo=UTC)
LINKED = 0.2
"""A link that alone leaves nothing out."""

REPLACED = [
    ("I live in Lyon.", "I moved to Porto last week!"),
    ("I work at Airbus", "I started at Siemens on Monday"),
    ("We live in a small flat near Gare du Nord in Paris.", "We've moved to a house in Nantes"),
    ("my girlfriend Anna is a nurse", "My new girlfriend Bea is vegan"),
    ("my girlfriend Anna is a nurse", "I broke up with Anna"),
    ("My boss is Clara.", "my boss is called Dominic now"),
    ("i work at a bakery", "I got a job at the library, so happy"),
    ("i work at a bakery", "I quit my job"),
    ("I'm 34 years old", "I'm 35 now"),
    ("I live in Vilnius", "I live in Kaunas now"),
    ("I'm single", "I'm engaged to Milo!"),
    ("I work for Netto as a cashier", "I joined Lidl as a manager in March"),
    ("I'm living with my parents in Turku", "we just moved in with Jonas's mum in Tampere"),
    ("My address is 12 Rue Blanche, Lyon", "My address is 4 Rua Nova, Porto"),
    ("My dentist is Dr Weber", "my new dentist is Dr Sommer, much better"),
    ("i live in lyon", "i live in porto these days"),
    ("I live in Bergen", "I live in Oslo"),
    ("We live in a small flat in Lyon", "We moved yesterday to a house in Nantes"),
    ("Who's your GP? Dr Lynch in Ranelagh", "new gp is Dr Farrelly, same practice"),
    (
        "What's your current rota? four nights on three off",
        "Which days will you be on? mon tue thu, every third weekend",
    ),
    ("What's your rota? four nights, three off", "What's your new rota? two nights, five off"),
    ("my number is 555 0147", "My new number is 555 0199"),
    ("my phone is 555 0147", "my mobile number is now 555 0199"),
    ("I work at Airbus", "I'm now the head of marketing at Siemens"),
    ("I work at Airbus", "I signed with Siemens as an engineer"),
    ("I got promoted to team lead", "I've been promoted to director"),
    ("I live in Lyon", "I don't live in Lyon anymore, Porto is nicer"),
    ("I live in Lyon", "I no longer live in Lyon"),
    ("we live in Lyon", "We left in March, Porto is home now"),
    ("I live in Lyon", "I've been living in Porto since March"),
    ("I live in Lyon", "my new place is in Porto"),
    ("I live in Lyon", "I finally moved to Porto last weekend"),
    ("I live in Lyon", "We moved out of Lyon on Friday"),
    ("I work at Airbus", "I no longer work at Airbus"),
    ("I work at Airbus", "I quit Airbus"),
    ("I work at Airbus", "I don't work for Airbus any more"),
    ("I work at Airbus", "I got laid off"),
    ("I work at Airbus", "I was made redundant by Airbus yesterday"),
    ("I work at Airbus", "I retired last month"),
    ("I work at Airbus", "I changed jobs, I'm at Siemens now"),
    ("I work at Airbus", "my new employer is Siemens"),
    ("I work at Airbus", "I quit Airbus, it was too loud"),
    ("I'm 34 years old", "I turned 35 yesterday and I'm 35 now"),
]
BOTH = [
    ("My name is Thomas", "I'm called Bo by everyone"),
    ("My name is Thomas", "call me Wim"),
    ("My name is Thomas", "I'm Portuguese, from Porto"),
    ("My name is Thomas", "I called Bo yesterday"),
    ("I live in Lyon", "We have a flat in Lyon and one in Porto"),
    ("I live in Lyon", "My sister moved to Porto"),
    ("I live in Lyon", "I might move to Porto"),
    ("I live in Lyon", "I'm moving to Porto in May"),
    ("I live in Lyon", "I moved to Porto when I was a kid"),
    ("I live in Lyon", "If I moved to Porto I'd miss the team"),
    ("I live in Lyon", "I moved my blog to Ghost"),
    ("I live in Lyon", "I was born in Porto"),
    ("I live in Berlin", "I'm living in Lisbon for three months"),
    ("I work at Airbus", "I also work at a bar on weekends"),
    ("I work at Airbus", "I started part-time at Siemens"),
    ("I work at Airbus", "My brother works at Siemens"),
    ("I work at Airbus", "I started at the gym"),
    ("My wife Anna is a nurse", "my wife is Portuguese"),
    ("My boss is Clara", "my boss is really annoying me"),
    ("My flatmate Tom is from Leeds", "my flatmate Ben cooks well"),
    ("I speak French", "I speak German"),
    ("What's your rota? nights, four on", "What are your opening hours? 10 to 6"),
    ("What's your rota? nights, four on", "What days are you off? christmas"),
    ("I have two kids", "My son Max plays chess"),
    ("I like jazz", "I like techno"),
    ("My phone is 555 0147", "my phone is broken again"),
    ("My phone is 555 0147", "my locker number is 14"),
    ("I work at Airbus", "I'm now a member at Planet Fitness"),
    ("I work at Airbus", "I signed with Feyenoord"),
    ("I live in Lyon, France", "I moved to a bigger flat in Lyon"),
    ("I live in Lyon", "I no longer live in Porto"),
    ("I live in Lyon", "I don't live in a house"),
    ("I live in Lyon", "Paris was home then"),
    ("I work at Airbus", "I don't work at Siemens"),
    ("I work at Airbus", "I quit Strava"),
    ("I work at Airbus", "I almost quit Airbus"),
    ("I work at Airbus", "If I got laid off I'd move to Porto"),
    ("I work at Airbus", "My brother got laid off"),
    ("I work at Airbus", "I'm a beginner at Spanish"),
]


def said(ordinal: int, text: str, *, days: int) -> list[Statement]:
    """The statements of a memory by the facets that ingest tells, one for each part."""
    found = facets_of(text, source_class="user", is_answer="? " in text)
    return [
        Statement(
            ordinal=ordinal,
            memory_id=f"{ordinal:032x}",
            sequence=ordinal + 1,
            sentences=tuple(dict.fromkeys(text[one.start : one.end] for one in own)),
            part=part,
            facets=tuple(one.facet for one in own),
            speaker="",
            occurred_at=START + timedelta(days=days),
            is_derived=False,
            score=0.5,
        )
        for part in (STATIC, DYNAMIC)
        if (own := [one for one in found if one.facet in part.facets])
    ]


def is_place(name: str) -> bool:
    """Of the names behind "moved to" in these texts."""
    return name in {"porto", "nantes", "oslo"}


def lines(*texts: str, links: Links | None = None, days: int = 40) -> list[str]:
    """The lines of a profile from texts that were said `days` apart, in any order."""
    statements = [said(number, text, days=days * number) for number, text in enumerate(texts)]
    shown = [
        sorted(line.statement.text for line in merged(chain(*order), links or Links(), is_place))
        for order in permutations(statements)
    ]
    assert all(one == shown[0] for one in shown)
    return shown[0]


@pytest.mark.parametrize(("older", "newer"), REPLACED)
def test_the_newer_of_one_value_is_shown(older: str, newer: str) -> None:
    """The older one is shown again when the newer one is gone."""
    assert lines(older, newer, links=Links({(1, 0): LINKED})) == [newer]
    assert lines(older) == [older]


@pytest.mark.parametrize(("older", "newer"), BOTH)
def test_several_values_stay(older: str, newer: str) -> None:
    """Also what others do, what is only planned or long ago, and what holds for a while."""
    assert older in lines(older, newer, links=Links({(1, 0): LINKED}))


def test_words_of_many_things_replace_only_what_consolidation_linked() -> None:
    """Nobody lives in an editor, whatever the link says."""
    assert len(lines("I live in Lyon", "I moved to Vim last week", links=Links({(1, 0): 0.4}))) == 2
    assert len(lines("I live in Lyon", "I moved to Porto last week")) == 2
    assert lines("I live in Lyon", "I moved to Porto last week", links=Links({(1, 0): 0.1})) == [
        "I moved to Porto last week"
    ]


def test_an_undone_relation_is_not_applied_again() -> None:
    """What a user took back stays taken back."""
    both = ["I live in Lyon", "I live in Porto now"]
    assert lines(*both) == both[1:]
    assert lines(*both, links=Links(undone={(1, 0)})) == both


def test_two_views_of_one_occasion_are_no_change() -> None:
    """A district and its city, said within an hour."""
    both = ["I live in Berlin", "I live in Kreuzberg"]
    assert lines(*both, days=0) == both


def test_only_the_clause_of_the_older_value_is_left_out() -> None:
    """What else the sentence says still holds."""
    moved = "I live in Porto now"
    assert lines("I live in Lyon and work at Airbus", moved) == [moved, "I work at Airbus"]
    assert lines("My son Max plays chess, and I live in Lyon", moved) == [moved, "My son Max plays chess"]


def test_a_value_that_holds_again_is_shown() -> None:
    """The one between is left out."""
    texts = ("I live in Lyon", "I live in Porto now", "I live in Lyon again, now for good")
    assert lines(*texts) == ["I live in Lyon", "I live in Lyon again, now for good"]


@pytest.mark.parametrize(
    ("sentence", "names"),
    [
        ("hi, I'm Inês, 31", {"ines"}),
        ("This is Karen, I run a bakery in Hull", {"karen"}),
        ("call me Wim", {"wim"}),
        ("my names ines btw", {"ines"}),
        ("hi, im noor.", {"noor"}),
        ("hi, im late", set()),
        ("my names are on the list", set()),
        ("Bo here.", {"bo"}),
        ("I'm Portuguese, from Porto", set()),
        ("This is Friday, no rush", set()),
        ("I'm back.", set()),
        ("call me later", set()),
        ("I called Bo yesterday", set()),
    ],
)
def test_a_name_is_read_where_somebody_introduces_themself(sentence: str, names: set[str]) -> None:
    """Nationalities, days and calls are no names."""
    found = [value for value in values_of(sentence, 2026) if value.fact == "name"]
    assert {name for value in found for name in value.names} == names


def test_a_genitive_may_have_no_apostrophe() -> None:
    """As people type it."""
    assert [(one.fact, one.names) for one in values_of("my wifes name is Ana", 2026)] == [
        ("partner", {"ana"})
    ]
