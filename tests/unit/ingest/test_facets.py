from datetime import UTC, datetime

import pytest

from helix_ingest.facets import dynamic_part, static_part
from helix_ingest.facets.find import facets_of
from helix_ingest.facets.tasks import states_task
from helix_ingest.facets.words import NEEDED, SHOUTED_WORDS, WORD
from helix_memory.vocabulary.speech_acts import SpeechAct
from tests.unit.linear_time import Linear, Shape, repeated

MONDAY = datetime(2026, 11, 16, 9, tzinfo=UTC)
STATED = {
    "identity": (
        "I'm a night nurse at the county hospital.",
        "hi, im pavel, 34, carpenter from Brno",
        "My name is Oluwaseun but call me Seun.",
        "my names ines btw",
        "Rosa here, I took over the release from Jan",
        "I live in Ghent with two cats",
        "I work as a site reliability engineer",
        "I'm currently working as a nurse at the county hospital",
        "we live at 14 Mill Lane",
        "We both work at the bakery",
        "I've just moved to Ghent",
        "we moved into a bigger flat",
        "I got a new job at the library",
        "our new address is 9 Quay Road",
        "We moved yesterday into the new flat",
        "I moved on Friday to Porto",
        "my new number is 06 1234 5678",
        "my mobile number is now 555 0147",
        "I got promoted to senior engineer",
        "I signed with Feyenoord",
        "I've just signed a contract with a new agency",
        "I'm now the head of marketing at Siemens",
        "I'm the new deputy head at St Mary's",
        "im now a team lead at Bosch",
        "heyy, new here. im dana, i do illustration, mostly kids books",
        "got a dog!! greyhound called biscuit, 6 yrs old",
        "hi. bram here, cook for 14 years",
        "Marguerite leads, me (Shreya) on payments",
        "i take over as lead in May",
    ),
    "background": (
        "I grew up on a dairy farm",
        "I used to row for the university",
        "I've worked in shipyards for twenty years",
    ),
    "relationship": (
        "my sister Halima is moving to Leeds",
        "My landlord is called Mr Ferreira",
        "my sister does the weekends",
        "Bo is my dog",
        "new gp is Dr Farrelly, same practice",
        "both kids go to Scoil Naithi",
    ),
    "preference": (
        "I'd rather take the stairs than that lift",
        "I can't stand coriander",
        "i always book the quiet coach",
        "a window seat for me please",
        "I hate video calls, just text me",
        "my favourite tea is lapsang",
        "I'm more of a morning person",
        "we use tabs and I don't like four spaces",
        "My daughter hates surprises",
        "i mostly use Procreate",
        "switched from procreate to clip studio",
    ),
    "constraint": (
        "I'm allergic to penicillin",
        "Petra is celiac, remember that for the picnic",
        "shellfish gives me hives",
        "Never schedule anything before nine.",
        "no force pushes on main, ever",
        "release notes go to the wiki, always",
        "please don't call my office number",
        "anywhere but NOT the airport hotel",
        "with my knees I don't do hikes any more, stairs make me dizzy",
        "I refuse to sign that form twice",
        "nothing with cilantro in it",
    ),
    "project": (
        "I'm currently rewriting the billing exporter",
        "we're renovating the attic",
        "my dissertation is about river deltas",
    ),
    "plan": ("We're moving to Lyon in June.", "I plan to retire next year", "We've booked the ferry"),
    "task": ("I still need to renew my passport", "the deadline is Friday"),
}
NOT_STATED = (
    "What should I cook for Ines tonight?",
    "Do you think I'm allergic to penicillin?",
    "Imagine I live in a castle",
    "If I were a pilot I'd hate night flights",
    '"I am a vegetarian" he said: "since birth"',
    "The build passed on the second try",
    "ok great, thanks",
    "I love it",
    "He loves it.",
    "Nadia thinks I should buy a van",
    "The bus never came",
    "SERVER IS NOT UP AND NOBODY KNOWS WHY",
    "It rained all day in Porto",
    "table orders, size 9.1 GB, vacuumed at 03:11",
    "I got a cat scan on Tuesday",
    "got a baby monitor",
    "I'm tired, I do that a lot",
    "I am sorry, I make mistakes",
    "it breaks when I use Chrome",
    "I use up all the milk",
    "I switched to the other lane",
    "What is your name? I am curious.",
)


@pytest.mark.parametrize(
    ("facet", "text"), [(facet, text) for facet, all_ in STATED.items() for text in all_]
)
def test_what_people_say_about_themselves_has_its_facet(facet: str, text: str) -> None:
    """The facet is told, and its span is a sentence of the text."""
    found = facets_of(text, source_class="user")
    assert facet in {one.facet for one in found}
    assert all(0 <= one.start < one.end <= len(text) for one in found)


@pytest.mark.parametrize(
    ("facets", "text"),
    [
        ({"identity", "relationship"}, "hi, im noor. just came over with my husband sami"),
        ({"constraint"}, "dont book anything on fridays, thats my study day"),
        ({"project", "plan"}, "signed up for the half marathon"),
        ({"task"}, "need to renew the passport"),
        ({"identity"}, "got the job at the infirmary"),
        ({"preference"}, "cant stand coriander"),
        ({"identity"}, "noor here, new number"),
        ({"project"}, "right im redoing the kitchen"),
        (set(), "tiles here, 3 boxes broken"),
        (set(), "ok for me, she is worth it"),
        (set(), "the kids are asleep"),
        (set(), "yes, ok for me"),
        (set(), "that works for me"),
        ({"preference"}, "get aisle seats for me"),
        ({"identity"}, "i'll take over as treasurer"),
        (set(), "i took over as soon as he left"),
        (set(), "he called me (idiot)"),
        (set(), "hey nobody here"),
        (set(), "new doctor is a Netflix show"),
        (set(), "in the movie the twins hate each other"),
        (set(), "building on the corner is closed"),
        (set(), "hi, im late"),
        (set(), "training moved to friday"),
        (set(), "i dont think anyone knows"),
        (set(), "during the call he said no"),
    ],
)
def test_what_is_typed_quickly_states_the_same(facets: set[str], text: str) -> None:
    """Without capitals, apostrophes and the first "I"."""
    assert {one.facet for one in facets_of(text, source_class="user")} == facets


@pytest.mark.parametrize(
    ("name", "about"),
    [
        ("Hey, I'm Chidi.", "RN on a cardiac ward in Dublin, two kids"),
        ("Hi! My name is Bea.", "Vet in Leeds, two dogs"),
        ("Hi, I'm Ada.", "Retired teacher"),
    ],
)
def test_who_introduces_themselves_goes_on_about_themselves(name: str, about: str) -> None:
    """The next sentence without a subject is about its author, where it names what somebody is."""
    said = f"{name} {about}"
    found = facets_of(said, source_class="user")
    assert [(one.facet, said[one.start : one.end]) for one in found] == [
        ("identity", name),
        ("identity", about),
    ]
    assert facets_of(about, source_class="user") == ()


@pytest.mark.parametrize(
    "text",
    [
        "Hi, I'm Noor. Thanks for the help with this.",
        "Hi, I'm Noor. Problem with my printer",
        "tom here. train stuck at crewe",
        "tom here. dad in hospital",
        "Hi, I'm Ada. Write tests for the parser",
        "Hi, I'm Noor. Can you help? Nurse in the office is away",
        "Hi, I'm Noor.\n\nTeacher in the meeting on tuesday",
    ],
)
def test_what_stands_behind_a_name_may_be_about_anything(text: str) -> None:
    """A problem, a request, what follows a question or a new paragraph."""
    assert len(facets_of(text, source_class="user")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "How would you like to proceed? let's go with option 2",
        "Do you prefer option A or option B? A",
        "Anything I should know before I start? the tests are flaky",
        "Where is your car? at the garage",
        "What's your batch size? 32",
        "What's your budget? idk",
        "What's your budget? i don\u2019t know",
        "What's your current rota? let me check and get back",
        "Who is your coach? dont have one",
    ],
)
def test_questions_of_the_moment_and_answers_that_tell_nothing_have_no_facet(text: str) -> None:
    """An agent asks them in every session."""
    assert facets_of(text, source_class="user", is_answer=True) == ()


@pytest.mark.parametrize("text", NOT_STATED)
def test_questions_quotations_and_small_talk_have_no_facet(text: str) -> None:
    """Neither has what is only imagined."""
    assert facets_of(text, source_class="user") == ()


def test_when_to_call_somebody_is_not_their_name() -> None:
    """It is a constraint at most."""
    for text in ("please never call me before 9", "call me back", "call me when you are there"):
        found = facets_of(text, source_class="user", speech_act="statement")
        assert "identity" not in {one.facet for one in found}


@pytest.mark.parametrize("source_class", ["agent", "tool", "document"])
def test_only_users_state_something_about_themselves(source_class: str) -> None:
    """A note of an agent in the first person is no statement of the user."""
    assert facets_of("I'm allergic to nuts", source_class=source_class) == ()


@pytest.mark.parametrize(
    ("act", "expected"),
    [
        ("statement", {"preference", "task"}),
        ("request", {"preference"}),
        ("question", set()),
        ("quotation", set()),
        ("hypothetical", set()),
        ("acknowledgement", set()),
    ],
)
def test_the_speech_act_decides_what_counts(act: SpeechAct, expected: set[str]) -> None:
    """A request may hold a standing preference, nothing else."""
    found = facets_of("I hate lifts. I have to file the form.", source_class="user", speech_act=act)
    assert {one.facet for one in found} == expected


def test_a_span_is_the_sentence_that_states_the_facet() -> None:
    """What stands around it is no part of the line."""
    text = "Long day. I'm vegan, by the way! The train was late."
    [found] = facets_of(text, source_class="user")
    assert text[found.start : found.end] == "I'm vegan, by the way!"


@pytest.mark.parametrize(
    "said",
    [
        "My coach is Mrs. Adeyemi.",
        "My dentist is Dr. Will Hart of St. Agnes",
        "I live in St. Ives at No. 7 Quay Road.",
        "My boss is Prof. J. Okonkwo Jr. from Lagos",
        "I'm allergic to nuts, e.g. cashews.",
        "my doctor is dr. hale",
        "I work nights until 6 a.m. at the depot",
    ],
)
def test_a_sentence_goes_on_behind_an_abbreviation(said: str) -> None:
    """Its dot ends no line of a profile."""
    assert {said[one.start : one.end] for one in facets_of(said, source_class="user")} == {said}


@pytest.mark.parametrize(
    "text",
    [
        "I live in Ghent. I saw the Dr. She was kind.",
        "no. I live in Ghent. no. 5 is late",
        "I live in Ghent. I am ok",
    ],
)
def test_a_word_that_looks_like_an_abbreviation_can_end_a_sentence(text: str) -> None:
    """A pronoun behind a title, and "no" without a number, begin the next sentence."""
    found = {text[one.start : one.end] for one in facets_of(text, source_class="user")}
    assert any(one.endswith("I live in Ghent.") for one in found)


@pytest.mark.parametrize(
    "text",
    [
        "I am moving to Oslo. Just kidding!",
        "I am moving to Oslo. Kidding. The train was late.",
        "We have to paint the roof pink. lol jk",
        "I live in a castle\njk",
        "I'm planning to quit on Monday, I've booked the ferry. I'm only joking, of course",
        "I'm moving to Oslo, just kidding",
        "I'm moving to Oslo (joking)",
        "I love mondays. That was a joke.",
        "Maybe we should rewrite it all in COBOL.",
        "Perhaps one day I have to sell the boat",
        "We should maybe paint it",
    ],
)
def test_a_joke_that_is_taken_back_and_an_idea_are_no_facet(text: str) -> None:
    """What the same turn withdraws is not so."""
    assert facets_of(text, source_class="user") == ()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("I live in Ghent. Not kidding.", "I live in Ghent."),
        ("I live in Ghent.\nI am moving to Oslo. Just kidding!", "I live in Ghent."),
        ("I am moving to Oslo. Kidding! I live in Ghent.", "I live in Ghent."),
        ("I live in Ghent. I was only joking with the kids there.", "I live in Ghent."),
        ("Maybe it rains, but I have to file the form", "Maybe it rains, but I have to file the form"),
    ],
)
def test_what_stands_around_a_joke_keeps_its_facet(text: str, line: str) -> None:
    """Only what stands before it in its paragraph is taken back."""
    assert {text[one.start : one.end] for one in facets_of(text, source_class="user")} == {line}


def test_what_somebody_will_do_is_a_plan_where_a_time_is_named() -> None:
    """Without one it is small change of a conversation."""
    text = "I'll fetch the keys from Marek"
    assert facets_of(text, source_class="user") == ()
    assert [one.facet for one in facets_of(text, source_class="user", ahead_of=MONDAY)] == ["plan"]


@pytest.mark.parametrize(
    "text",
    [
        "eye clinic letter, cataract op 14 january, right eye first",
        "mama visits 4th to 8th dec, she sleeps in my bed",
        "beth is moving back to leeds in december",
        "I had the flu on Sunday. The exam is on Friday.",
        "The lift stops at the 3rd floor. The plumber comes tomorrow.",
    ],
)
def test_what_comes_on_a_day_is_a_plan(text: str) -> None:
    """Whoever does it; a fragment ("till christmas") says too little for a line of a profile."""
    found = facets_of(text, source_class="user", ahead_of=MONDAY)
    assert [one.facet for one in found] == ["plan"]
    assert not {"flu", "lift"} & set(text[found[0].start : found[0].end].split())
    assert facets_of(text, source_class="user") == ()
    assert facets_of("till christmas probably", source_class="user", ahead_of=MONDAY) == ()


@pytest.mark.parametrize(
    ("facet", "question", "answer"),
    [
        ("identity", "Where do you live?", "near the station"),
        ("relationship", "What's your sister's name?", "beth"),
        ("project", "What are you working on?", "a book about a hedgehog who is scared of the dark"),
        ("constraint", "Are you allergic to anything?", "just cats"),
        ("constraint", "What's your budget?", "25k all in, water included"),
        ("identity", "What's your current rota?", "four nights on three off"),
        ("identity", "Which days will you be on?", "mon tue thu, every third weekend"),
        ("relationship", "Who's your GP?", "Dr Lynch in Ranelagh"),
        ("preference", "Anything about how you want me to work?", "type hints everywhere, mypy strict"),
    ],
)
def test_an_answer_has_its_question_in_its_facet(facet: str, question: str, answer: str) -> None:
    """Of somebody else, without the sentences before it; a denial states nothing."""
    text = f"She drives up on Fridays. {question} {answer}"
    assert [
        (one.facet, text[one.start : one.end]) for one in facets_of(text, source_class="user", is_answer=True)
    ] == [(facet, f"{question} {answer}")]
    assert facets_of(text, source_class="user") == ()
    assert facets_of(f"{question} No, nothing.", source_class="user", is_answer=True) == ()


def test_an_answer_that_states_a_facet_itself_has_one_line() -> None:
    """The question and the answer, not the answer once more."""
    text = "Do you prefer tea or coffee? i love coffee"
    found = facets_of(text, source_class="user", is_answer=True)
    assert [(one.facet, one.start, one.end) for one in found] == [("preference", 0, len(text))]


def test_the_words_that_a_pattern_needs_are_complete() -> None:
    """The quick test of words never hides a facet."""
    finders = {
        **{
            name: getattr(static_part, name.upper()).search
            for name in ("identity", "background", "preference")
        },
        **{name: getattr(static_part, name.upper()).search for name in ("relationship", "constraint")},
        **{name: getattr(dynamic_part, name.upper()).search for name in ("project", "plan")},
        "task": states_task,
    }
    texts = [text.lower() for all_ in STATED.values() for text in all_] + [
        text.lower() for text in NOT_STATED
    ]
    for name, finds in finders.items():
        for text in filter(finds, texts):
            assert not NEEDED[name].isdisjoint(WORD.findall(text)), (name, text)
    for text in filter(static_part.SHOUTED.search, NOT_STATED):
        assert not SHOUTED_WORDS.isdisjoint(text.split())


@pytest.mark.parametrize(
    "piece",
    [
        "i ",
        "never ",
        "a, ",
        "i'm the ",
        ".",
        "my sister ",
        "\n",
        "Dr. ",
        "jk. ",
        "lol ",
        "maybe i ",
        "x",
        "hi. ",
        "new gp is ",
        "me (A), ",
    ],
)
def test_hostile_texts_take_linear_time(piece: str, linear_beginnings: Linear) -> None:
    """The start of a text is read, and every repetition is bounded."""
    texts = [*repeated(piece), Shape(f"no {piece!r}", "no ", piece)]
    assert not linear_beginnings.failures(lambda text: facets_of(text, source_class="user"), texts=texts)
