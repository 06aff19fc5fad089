"""kg's typed relations: who works for whom, and what says no such thing."""

from __future__ import annotations

import pytest

from helix_kg.extract import extract
from helix_kg.predicates import RULES
from helix_kg.relations import find_relations
from helix_kg.resolve import resolve
from helix_memory.vocabulary.predicates import PREDICATES, SIDES
from helix_shared.naming import Name, canonical, find_names
from tests.unit.kg.rows import row
from tests.unit.linear_time import Linear, repeated


def relations(text: str, speaker: str = "") -> set[tuple[str, str, str]]:
    """Predicate, subject and object of the relations of a text."""
    said_by = Name("name", name, speaker, (0, 0)) if (name := canonical(speaker)) else None
    found = find_relations(text, find_names(text), said_by)
    return {(relation.predicate, relation.subject.name, relation.obj.name) for relation in found}


@pytest.mark.parametrize(
    ("text", "speaker", "expected"),
    [
        ("Priya works for Northwind Clinic.", "", ("WORKS_FOR", "priya", "northwind clinic")),
        ("I'm now working for Bramwell Joinery.", "Tom", ("WORKS_FOR", "tom", "bramwell joinery")),
        ("Last spring Tom moved from Leeds to Whitby.", "", ("MOVED_TO", "tom", "whitby")),
        ("Last spring Tom moved from Leeds to Whitby.", "", ("MOVED_FROM", "tom", "leeds")),
        ("My sister Greta lives in a small flat in Bergen.", "Tom", ("LIVES_IN", "greta", "bergen")),
        ("The Harrow Centre is located in Leeds.", "", ("LOCATED_IN", "harrow centre", "leeds")),
        ("Jenkins was replaced by Buildkite.", "", ("REPLACED_BY", "jenkins", "buildkite")),
        ("We switched from Redux to Zustand.", "Mia", ("REPLACED_BY", "redux", "zustand")),
        ("We replaced Redux with Zustand.", "", ("REPLACED_BY", "redux", "zustand")),
        ("Today Tom replaced the old Redux with Zustand.", "Mia", ("REPLACED_BY", "redux", "zustand")),
        ("Zustand replaced Redux.", "", ("REPLACED_BY", "redux", "zustand")),
        ("PaymentRouter depends on LedgerStore.", "", ("DEPENDS_ON", "paymentrouter", "ledgerstore")),
        ("Fulmar is owned by Olaf.", "", ("OWNS", "olaf", "fulmar")),
        ("Priya, a nurse from Kochi, is married to Tom.", "", ("MARRIED", "priya", "tom")),
        ("Marcus Lund was succeeded by Helga Dahl.", "", ("SUCCEEDED", "helga dahl", "marcus lund")),
        ("Rui Matos reports to me.", "Priya", ("REPORTS_TO", "rui matos", "priya")),
        ("My manager is Helga.", "Priya", ("REPORTS_TO", "priya", "helga")),
        ("My boss is now called Helga.", "Priya", ("REPORTS_TO", "priya", "helga")),
        ("My wife is Ines.", "Olaf", ("MARRIED", "olaf", "ines")),
        ("Olaf's wife Ines lives in Porto.", "", ("MARRIED", "olaf", "ines")),
        ("Olaf's wife Ines lives in Porto.", "", ("LIVES_IN", "ines", "porto")),
        ("My husband Rui and I live in Porto.", "Ines", ("LIVES_IN", "rui", "porto")),
        ("I work at McDonald's in Leeds.", "Tom", ("WORKS_FOR", "tom", "mcdonald")),
        ("Oakline Group bought LedgerStore a few years ago.", "", ("OWNS", "oakline group", "ledgerstore")),
        ("Olaf is a member of the Bergen Rowing Club.", "", ("MEMBER_OF", "olaf", "bergen rowing club")),
        ("Ines joined Oakline Group and lives in Porto.", "", ("LIVES_IN", "ines", "porto")),
        ("Ines is the daughter of Rui Matos.", "", ("PARENT_OF", "rui matos", "ines")),
        ("Tom reports to Dr. Okafor.", "", ("REPORTS_TO", "tom", "dr. okafor")),
    ],
)
def test_a_statement_relates_two_names(text: str, speaker: str, expected: tuple[str, str, str]) -> None:
    """Also in the passive voice, with the speaker, and with one subject for two verbs."""
    assert expected in relations(text, speaker)


@pytest.mark.parametrize(
    "text",
    [
        "Priya does not work for Northwind Clinic.",
        "Does Priya work for Northwind Clinic?",
        "Ines works for Oakline Group, right?\nI forgot.",
        "Ines works for Oakline Group?!\n\nI forgot.",
        "Is it true: \u201cInes works for Oakline Group?\u201d\nI forgot.",
        "**Ines works for Oakline Group?**\nI forgot.",
        "Priya was hired at Northwind Clinic.",
        "Jenkins was replaced last week at Northwind Clinic.",
        "Harrow Centre is owned largely through Oakline Group.",
        "Rui Matos was succeeded at Oakline Group last week.",
        "Tom's manager is in Leeds.",
        "Ines bought a boat in Porto.",
        "If Tom moved to Leeds, Priya would sell the van.",
        "Maybe Olaf will move to Tromso.",
        "Ines no longer works at Oakline Group.",
        "I think Ines works for Oakline Group.",
        "Ines could have moved to Porto with Rui.",
        "Nobody said that Ines works for Oakline Group.",
        "Paris Hilton visited Paris.",
        "I bought it on June 1st.",
        "My manager is away from February 15th on.",
        "My manager is meeting Ines tomorrow.",
        "My boss is a friend of Ines.",
        "My wife met Ines.",
        "My wife is Portuguese.",
        "Ines married Rui's brother.",
        "Ines married a friend of Rui.",
        "Priya works for Rui's father.",
        "I bought Mia a bike.",
        "Ines wrote Rui a letter.",
        "Ines wrote a book about Leeds.",
        "Neither Rui nor Priya works for Acme.",
        "Nor does Rui work for Acme.",
        "No one at Acme works for Rui.",
        "It is a lie that Rui works for Acme.",
        "Rui lives in Leeds or York.",
        "Rui will work for Acme next year.",
        "I'd live in Leeds.",
        "I grew up in Leeds.",
        "it isnt true that Rui works for Acme",
        "Others, i.e. works at Acme",
        "i don't work for Acme",
    ],
)
def test_what_is_no_fact_about_two_names_states_nothing(text: str) -> None:
    """Negations, questions, plans, and what only belongs to a name: none is better than a false one."""
    assert relations(text, "Tom") == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("I replaced Redux with Zustand.", {("REPLACED_BY", "redux", "zustand")}),
        ("Today Mia is replacing Redux with Zustand.", set()),
        ("We replaced Redux in Ledgerly with Zustand.", set()),
        ("We never replaced Redux with Zustand.", set()),
        ("We replaced Redux with great care in Ghent.", set()),
        ("We replaced Redux with Mia's help.", set()),
    ],
)
def test_who_replaces_one_thing_with_another_takes_the_place_of_neither(
    text: str, expected: set[tuple[str, str, str]]
) -> None:
    """And only the thing directly behind the verb is replaced."""
    assert relations(text, "Tom") == expected


def test_pairs_of_a_predicate_are_never_ambiguous() -> None:
    """Two subjects with two objects would be four pairs for who reads the graph."""
    text = "Priya works for Northwind Clinic. Today Tom works for Bramwell Joinery."
    assert relations(text) == {("WORKS_FOR", "priya", "northwind clinic")}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My sister works at Acme and I work at Imec.", {("WORKS_FOR", "tom", "imec")}),
        ("The router depends on Redis and Worker depends on Kafka.", {("DEPENDS_ON", "worker", "kafka")}),
        ("Ada reports to Bob and Carol manages Dan.", {("REPORTS_TO", "ada", "bob")}),
        ("I left Acme and I work at Imec.", {("WORKS_FOR", "tom", "imec")}),
        ("i quit my job at Acme and i work at Imec", {("WORKS_FOR", "tom", "imec")}),
        ("Yesterday Ada and I moved to Ghent.", {("MOVED_TO", p, "ghent") for p in ("ada", "tom")}),
        ("So my friend Ada and I moved to Ghent.", {("MOVED_TO", p, "ghent") for p in ("ada", "tom")}),
        ("Ada and Bob work at Acme.", {("WORKS_FOR", "ada", "acme"), ("WORKS_FOR", "bob", "acme")}),
    ],
)
def test_the_object_of_one_clause_is_no_subject_of_the_next(
    text: str, expected: set[tuple[str, str, str]]
) -> None:
    """In "works at Acme and I work", "and" joins two clauses and no two names."""
    assert relations(text, "Tom") == expected


def test_both_sides_take_the_place_of_mentions_with_their_weight() -> None:
    """The sum of the weights of a memory and an entity is the same as without relations."""
    text = "Priya works for Acme and lives in Porto."
    links = resolve(extract(row(text)))
    assert {(link.edge, link.name): link.weight for link in links} == {
        ("WORKS_FOR_SUBJECT", "priya"): 0.5,
        ("WORKS_FOR_OBJECT", "acme"): 1.0,
        ("LIVES_IN_SUBJECT", "priya"): 0.5,
        ("LIVES_IN_OBJECT", "porto"): 1.0,
    }
    asked = resolve(extract(row(text, speech_act="hypothetical")))
    assert {link.edge for link in asked} == {"MENTIONS"}


def sides(text: str, **fields: str) -> dict[str, str]:
    """Entities by the side of a predicate that they are."""
    links = resolve(extract(row(text, **fields)))
    return {link.edge: link.name for link in links if link.edge in SIDES}


@pytest.mark.parametrize(
    ("text", "predicate", "other"),
    [
        ("I work at Volkov Labs.", "WORKS_FOR", "volkov labs"),
        ("I moved to Ghent", "MOVED_TO", "ghent"),
        ("I married Jo", "MARRIED", "jo"),
        ("i work at Acme since may", "WORKS_FOR", "acme"),
        ("ok so i'm living in Ghent now", "LIVES_IN", "ghent"),
        ("im living in Ghent now", "LIVES_IN", "ghent"),
        ("Ive moved to Ghent", "MOVED_TO", "ghent"),
        ("My manager is Helga.", "REPORTS_TO", "helga"),
    ],
)
def test_the_user_is_who_says_i_where_no_speaker_is_named(text: str, predicate: str, other: str) -> None:
    """Only in their own turn; a speaker comes first."""
    found = {f"{predicate}_SUBJECT": "User ana", f"{predicate}_OBJECT": other}
    assert sides(text, role="user", user_id="ana") == found
    assert sides(text, role="user", user_id="ana", speaker="Tom")[f"{predicate}_SUBJECT"] == "tom"
    assert sides(text, role="assistant", user_id="ana") == {}
    assert sides(text, role="user") == {}


def test_no_name_of_a_text_is_the_entity_of_a_user() -> None:
    """Neither in a text, a title or a tag nor as a speaker; other users have others."""
    user = sides("I moved to Ghent", role="user", user_id="ana")["MOVED_TO_SUBJECT"]
    forged = row(f"{user} moved to Porto. @ana `{user}`", title=user, speaker=user, categories=[user, "ana"])
    assert user not in {link.name for link in extract(forged)}
    users = ("ana", "Ana", "User ana", "\u00e4na")
    found = [sides("I moved to Ghent", role="user", user_id=one)["MOVED_TO_SUBJECT"] for one in users]
    assert len(set(found)) == len(users)


def test_a_user_is_linked_by_relations_alone() -> None:
    """A turn without a relation does not tie all turns of a user together, and a denial is no relation."""
    for text in ("I bought bread.", "I never moved to Ghent.", "Did I move to Ghent?"):
        links = extract(row(text, role="user", user_id="ana"))
        assert "User ana" not in {link.name for link in links}


def test_who_belongs_to_a_club_is_not_owned_by_it() -> None:
    """One verb has one predicate."""
    text = "Olaf belongs to the Bergen Rowing Club."
    assert relations(text) == {("MEMBER_OF", "olaf", "bergen rowing club")}


@pytest.mark.parametrize(
    "text",
    [
        'Bob said: "I moved to Ghent."',
        "\u201cI moved to Ghent\u201d, said Bob.",
        "Bob writes:\n> I moved to Ghent.",
        "See what they wrote:\nBob: I moved to Ghent.",
        "Bob Olsen: I moved to Ghent.",
    ],
)
def test_who_says_i_in_a_quotation_is_not_the_speaker(text: str) -> None:
    """The speaker stayed where they are."""
    assert relations(text, "Mia") == set()
    assert relations(f"{text}\nI moved to Porto.", "Mia") == {("MOVED_TO", "mia", "porto")}


def test_every_rule_has_a_predicate_that_the_graph_stores() -> None:
    """And every predicate has a rule."""
    assert {rule.predicate for rule in RULES} == set(PREDICATES)


@pytest.mark.parametrize(
    "piece",
    [
        "Ann works for Bob and ",
        "Ann, a ",
        "to ",
        "I my me ",
        "Ann owns Bob. ",
        "Ann (a",
        "replaced the ",
        "Ann replaces ",
    ],
)
def test_time_is_linear_for_hostile_texts(piece: str, linear_functions: Linear) -> None:
    """100,000 characters, however they are made."""
    mel = Name("name", "mel", "Mel", (0, 0))
    assert not linear_functions.failures(
        lambda text: find_relations(text, find_names(text), mel), texts=repeated(piece)
    )
