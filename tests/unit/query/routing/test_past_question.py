"""Whether a question is about what was: by its tense and by words of earlier times."""

import pytest

from helix_query.profile.past_question import PastQuestion
from helix_query.recall.routing.past.past_question import asks_for_former, past_of
from tests.unit.linear_time import Linear, repeated


@pytest.mark.parametrize(
    "query",
    [
        "Where do we store the backups?",
        "what's the budget for the kitchen?",
        "who is on call this week",
        "Is the old bridge still closed?",
        "which nurse takes the night shift now that Ines left?",
        "what do I have to bring before the surgery?",
        "Where did we end up putting the boat, currently?",
        "which of my old friends lives in Ghent?",
        "Where is the old sofa now?",
        "Where do we keep the original contract?",
        "what do I do first when the alarm goes off?",
        "What comes before the dessert?",
        "until when can I return the shoes?",
        "what's the tip for removing old paint",
        "How often does the filter need changing?",
        "how old is the boiler",
        "which train do I take to be there before nine",
        "The old barn was sold before the storm, and that is all there is to say.",
    ],
)
def test_what_holds(query: str) -> None:
    """Present tense, or a word for now."""
    assert past_of(query) is PastQuestion.NO


@pytest.mark.parametrize(
    "query",
    [
        "Which wood did the carpenter want for the door?",
        "who paid the deposit",
        "what was the fee",
        "who drove us?",
    ],
)
def test_the_past_tense_alone(query: str) -> None:
    """The first finite verb decides."""
    assert past_of(query) is PastQuestion.TENSE


@pytest.mark.parametrize(
    ("query", "past"),
    [
        ("Why did you cancel?", PastQuestion.TENSE),
        ("When did Anna drop the kids?", PastQuestion.TENSE),
        ("When did I move to Rome?", PastQuestion.TENSE),
        ("What did I develop for the client?", PastQuestion.TENSE),
        ("Did Ann raise the question?", PastQuestion.TENSE),
        ("Did we update the server?", PastQuestion.TENSE),
        ("Where did I leave my keys before the trip?", PastQuestion.TENSE),
        ("What did Anna say before lunch?", PastQuestion.TENSE),
        ("Show me the earlier emails", PastQuestion.NO),
        ("past the deadline, what happens?", PastQuestion.NO),
        ("what is an ex-parte ruling?", PastQuestion.NO),
    ],
)
def test_an_act_or_an_event_is_no_change(query: str, past: PastQuestion) -> None:
    """Verbs of change also tell of acts, and "before" also dates an event."""
    assert past_of(query) is past
    assert not asks_for_former(query)


@pytest.mark.parametrize(
    ("query", "is_sure"),
    [
        ("what was the old gate code?", True),
        ("What was the fee originally?", True),
        ("what was the original budget for the roof?", True),
        ("What did they switch from?", True),
        ("old alarm code", True),
        ("Which code did the locker have before?", True),
        ("Which shift did I have before the new roster?", False),
        ("when did the phone number change?", False),
        ("what did we believe about the leak back then?", False),
    ],
)
def test_what_was_wrong_is_wanted_by_sure_words_alone(query: str, *, is_sure: bool) -> None:
    """A corrected memory was never true."""
    assert asks_for_former(query) is is_sure


WORDS = {
    PastQuestion.EARLIER: (
        "what did we believe about the leak back then?",
        "What was the code at the time of the break-in?",
        "Who did the books back when Piet was ill?",
        "Which depot did they run in those days?",
    ),
    PastQuestion.FORMER: (
        "where did I use to work before the hospital",
        "What used to be the gate code?",
        "what was the old gate code?",
        "What's the old wifi password?",
        "tell me the previous landlord's phone number",
        "who was our former accountant?",
        "What did we use before Trello?",
        "Before Klara, who taught the Tuesday class?",
        "what time was the appointment before they moved it?",
        "which port did the staging server listen on previously?",
        "what was the wedding date supposed to be?",
        "Which medicine was I on until the spring?",
        "old alarm code",
        "the previous tenant's name?",
        "I want the old address of the clinic",
        "Do you remember the old locker combination?",
        "What did they switch from?",
        "When were we supposed to move into the new flat?",
        "when was my appointment with the dentist before they moved it?",
        "How much did the tuition cost before the increase?",
        "what's my ex-boss called",
        "Which shift did I have before the new roster?",
        "what was the flight number prior to the rebooking?",
    ),
    PastQuestion.FIRST: (
        "What was the fee originally?",
        "Which database did we run at the beginning?",
        "What was the original budget for the roof?",
        "What was the first name we picked for the boat?",
        "what did the allotment cost initially?",
        "Where were we going to hold the reunion at first?",
    ),
    PastQuestion.CHANGES: (
        "how often has the deadline moved?",
        "history of the gate code",
        "How did the price of the roof change over time?",
        "when did the phone number change?",
        "when did we switch from gas to induction?",
        "When did Nadia become team lead?",
        "When was the training moved to Thursdays?",
        "why was the concert moved",
        "Has the tuition gone up?",
        "did the trash day change",
        "tell me how the recipe evolved",
        "since when is the office in Ghent?",
    ),
}


@pytest.mark.parametrize(("past", "query"), [(past, query) for past, said in WORDS.items() for query in said])
def test_words_of_earlier_times(past: PastQuestion, query: str) -> None:
    """With the past tense, beside the thing that is asked for, or where changes are asked for."""
    assert past_of(query) is past
    assert past_of(query.replace("\u0027", "\u2019").upper()) is past


def test_a_long_text_is_read_in_linear_time(linear_beginnings: Linear) -> None:
    """Also one that is made for the patterns."""
    pieces = ("has ", "all a ", "how often ", "x", "what was ", "when did the a ", "was the ")
    assert not linear_beginnings.failures(
        lambda text: (past_of(f"{text}?"), asks_for_former(text)), texts=repeated(*pieces)
    )
