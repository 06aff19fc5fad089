"""Links to what a handover, another number of the same thing, or a notice replaces."""

from __future__ import annotations

import numpy as np
import pytest

from helix_consolidation.relations.corrections import ANNOUNCES, least_probability
from helix_consolidation.relations.decide import decide
from helix_consolidation.relations.pair import Pair
from helix_consolidation.relations.slots import CHANGES_NUMBER
from helix_consolidation.relations.statement import Candidate, Statement
from helix_consolidation.relations.successors import NAMES_SUCCESSOR, Handover, handover
from helix_consolidation.relations.words.reading import read

VECTOR = np.eye(1, 4, dtype=np.float32)[0]


def evidence(old: str, new: str) -> str:
    """Which rule says that `new` replaces `old`."""
    pair = Pair(Statement(new, VECTOR), read(new), Statement(old, VECTOR), read(old))
    return least_probability(pair)[0]


@pytest.mark.parametrize(
    ("text", "gone", "comes"),
    [
        ("dr osei is retiring, from april its Dr Nkemelu, same surgery", "osei", "nkemelu"),
        ("Tomasz is leaving end of march :( Nadia takes billing", "tomasz", "nadia"),
        ("Sandra left Homebird. it's a guy called Devraj now", "sandra", "devraj"),
        ("Quast cancelled, instead Gregor does meteorites", "quast", "gregor"),
        ("Okonkwo takes over the money from Gregor", "gregor", "okonkwo"),
        ("Ines replaces Helmut from may", "helmut", "ines"),
        ("petra is out for 6 weeks, knee. marco drives the van instead", "petra", "marco"),
        ("priya is swamped. nadia reviews your stuff till may", "priya", "nadia"),
        ("marek hurt his back, Stefan runs the site now", "marek", "stefan"),
    ],
)
def test_a_handover_names_who_goes_and_who_comes(text: str, gone: str, comes: str) -> None:
    """Also in lower case, where a title or a rare word is a name."""
    assert handover(text) == Handover(gone, comes)


@pytest.mark.parametrize(
    "text",
    [
        "haugland left me brown cheese as a goodbye, thinks it's fudge",
        "Tomasz is leaving early, call me",
        "the train left, it's raining",
        "Nadia takes billing",
        "Marek hurt his back, the doctor drives to him",
        "is Tomasz leaving?",
    ],
)
def test_a_parting_alone_is_no_handover(text: str) -> None:
    """Somebody has to come."""
    assert handover(text) is None


def test_who_had_the_part_is_replaced_and_nothing_else_of_that_person() -> None:
    """What they once did stays as it was."""
    new = "dr osei is retiring, from april its Dr Nkemelu"
    assert evidence("gp is Dr Osei at Millfield", new) == NAMES_SUCCESSOR
    assert evidence("Sandra, 01632 960 118", "sandra left. its a guy called Devraj now") == NAMES_SUCCESSOR
    parts = "tomasz owns billing, priya owns auth"
    assert evidence(parts, "tomasz is leaving, nadia takes billing") == NAMES_SUCCESSOR
    assert evidence(parts, "priya is swamped. nadia reviews your stuff till may") == ""
    assert evidence("dr osei put ramipril up to 10", new) == ""
    assert evidence("from may Dr Nkemelu and Dr Osei share the surgery, it is Dr Osei on mondays", new) == ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("port 8080, admin stuff on 9090", "8080 clashes w priyas keycloak, moved us to 8085"),
        ("we meet at the school, room 204, 19:30", "204 has no projector anymore so its 211 now"),
        ("he swapped it for losartan 50", "losartan 100 now as the pressure is still high"),
    ],
)
def test_another_number_of_the_same_thing_replaces(old: str, new: str) -> None:
    """By the older number, or by the rare word beside both."""
    assert evidence(old, new) == CHANGES_NUMBER
    found = decide(Statement(new, VECTOR), [Candidate(Statement(old, VECTOR), cosine=0.4)])
    assert [(one.relation, one.closes) for one in found] == [("UPDATES", False)]
    assert found[0].probability >= 0.6


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("losartan 50 in the morning", "losartan 100 in the evening"),
        ("Sandra, 01632 960 118", "told sandra. its 6.30 now"),
        ("all in 250 000 kr", "new ceiling is 310 000 now"),
        ("order 4471 has 80 parts", "the pump is 300 now"),
        ("we have 31 members", "is it 38 now?"),
    ],
)
def test_numbers_of_other_things_replace_nothing(old: str, new: str) -> None:
    """Nor does a number without a word of change."""
    assert evidence(old, new) != CHANGES_NUMBER


def test_a_notice_names_both_values_beside_each_other() -> None:
    """A long answer with "new version" somewhere has numbers of many other things."""
    old = "the workshop is on the 12th"
    assert evidence(old, "the workshop on the 12th is off, the new date is the 26th") == ANNOUNCES
    filler = "and then check each of the pages of the workshop in turn " * 4
    assert (
        evidence(old, f"see the list of the 12th first {filler} with the new version, also on the 26th") == ""
    )
