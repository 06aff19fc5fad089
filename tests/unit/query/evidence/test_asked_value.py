import pytest

from helix_query.recall.evidence.asked_value import AskedKind, asked_value
from helix_query.recall.evidence.stated_value import states_value
from tests.unit.linear_time import Linear, repeated


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("What's the vet's phone number?", AskedKind.PHONE),
        ("what is Noor's email address", AskedKind.EMAIL),
        ("Which version of Postgres runs on staging?", AskedKind.VERSION),
        ("how much did the roof cost us", AskedKind.MONEY),
        ("What was the deposit for the van?", AskedKind.MONEY),
        ("How many chairs are in the chapel?", AskedKind.NUMBER),
        ("what size are Ida's boots", AskedKind.NUMBER),
        ("What time does the pharmacy close?", AskedKind.TIME),
        ("which colour did we paint the hall?", AskedKind.COLOUR),
        ("what's our window cleaner called?", AskedKind.NAME),
        ("Which bakery made the cake?", AskedKind.NAME),
        ("What's the name of Jonas's dog?", AskedKind.NAME),
        ("who signed off the discharge?", AskedKind.PERSON),
        ("Why was the deploy rolled back?", None),
        ("what happened at the allotment", None),
        ("Which of these days suits her?", None),
        ("tell me about the inspection", None),
        ("", None),
    ],
)
def test_the_kind_of_value_a_question_asks_for(question: str, kind: AskedKind | None) -> None:
    """Open questions ask for none."""
    found = asked_value(question)
    assert (found.kind if found else None) == kind


@pytest.mark.parametrize(
    ("question", "text", "stated"),
    [
        ("What's the vet's phone number?", "The vet: 020 7946 0018, ask for Bea.", True),
        ("What's the vet's phone number?", "Vet on 14 March at 9:30, 40 euros.", False),
        ("how much did the roof cost us", "The roof came to 8,400 in the end.", True),
        ("how much did the roof cost us", "Roof finished on 3 May, took two weeks!", False),
        ("how much did the roof cost us", "The roof is done. We paid 8,400 for the car.", False),
        ("How many chairs are in the chapel?", "There are forty chairs, all wooden.", True),
        ("How many chairs are in the chapel?", "The chairs in the chapel are wooden.", False),
        ("what size are Ida's boots", "Ida takes a 38 in boots.", True),
        ("Which version of Postgres runs on staging?", "Staging runs Postgres 16.2 now.", True),
        ("Which version of Postgres runs on staging?", "Postgres on staging: 31 jobs pass.", False),
        ("What time does the pharmacy close?", "The pharmacy closes at 18:30 on weekdays.", True),
        ("What time does the pharmacy close?", "The pharmacy is closed for stocktaking.", False),
        ("which colour did we paint the hall?", "Painted the hall pale green today.", True),
        ("Which bakery made the cake?", "The cake is from the bakery Harth & Sons.", True),
        ("Which bakery made the cake?", "We ordered the cake at the bakery.", False),
        ("what's our window cleaner called?", "The window cleaner comes on Fridays.", False),
        ("what's our window cleaner called?", "The new cleaner, Ottoline, starts soon.", True),
        ("what is Noor's email address", "write to Noor at noor@clinic.example", True),
        ("who signed off the discharge?", "the discharge was signed off by Dr Achebe", True),
        ("who signed off the discharge?", "the discharge is signed off", False),
        ("who is noors key worker", "her key worker is miss tandy", True),
        ("whats ilyas brothers name", "his brother is called tomek", True),
        ("whats ilyas brothers name", "his brother is away", False),
        ("which worktop did we choose", "changed my mind on the worktop, quartz.", True),
        ("which worktop did we choose", "took the quartz worktop", True),
        ("which worktop did we choose", "the worktop needs oiling", False),
        ("what is the dog called?", "the dog is asleep", False),
        ("which dog was it?", "yes, dog ate it", False),
        ("who is noors key worker", "her key worker was late on mondays", False),
        ("who signed off the discharge?", "my sister signed off on the discharge", True),
    ],
)
def test_a_sentence_about_the_thing_states_the_value(question: str, text: str, *, stated: bool) -> None:
    """Dates and spans of time are no amounts; what the question says itself is no answer."""
    asked = asked_value(question)
    assert asked is not None
    assert states_value(asked, text) is stated


def test_a_speaker_who_says_i_is_a_person() -> None:
    """Unless the question names them: then somebody else is asked for."""
    asked, own = asked_value("who waters the plants"), asked_value("who waters Eamon's plants")
    assert asked is not None
    assert own is not None
    assert states_value(asked, "I can do the plants", speaker="Eamon")
    assert not states_value(own, "the plants are dry", speaker="Eamon")


@pytest.mark.parametrize(
    "piece",
    [
        "1 ",
        "A",
        "@",
        "half ",
        "what is the number ",
        "'",
    ],
)
def test_hostile_text_costs_linear_time(piece: str, linear_beginnings: Linear) -> None:
    """Questions and memories are cut, and no pattern goes back and forth."""

    def read(text: str) -> None:
        for question in (text, f"which {text}", f"how much {text}", f"what's {text}'s name"):
            if (asked := asked_value(question)) is not None:
                states_value(asked, text)

    assert not linear_beginnings.failures(read, texts=repeated(piece))
