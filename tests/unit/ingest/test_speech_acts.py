"""The speech act of a turn, as people write."""

from __future__ import annotations

import pytest

from helix_ingest.extraction.acts.speech_act import speech_act
from helix_memory.events import CorrectEvent, MemoryEvent, MessageEvent, ToolEvent
from helix_memory.vocabulary.speech_acts import SpeechAct

ACTS: dict[SpeechAct, list[str]] = {
    "question": [
        "When does the night shift start?",
        "what's the visiting time",
        "which ward",
        "who has the key to the shed",
        "how many planks do we need",
        "ok so where is the meeting",
        "is the boiler on",
        "did anyone feed the hens",
        "do you still have the ladder",
        "has the parcel come",
        "any news from the lab",
        "when is it due",
        "hey, what about Saturday",
        "Got it. What is your budget?",
        "Congratulations! Which part is next?",
        "That sounds lovely! How long did you stay?",
        "I wonder whether they deliver on Sundays",
        "remind me what the door code was",
        "new kitchen. ideas?",
        "whats the wifi password",
        "whos picking up leo today",
        "whod we use for the roof last time",
        "when r they coming",
        "r u coming sunday",
        "手术几点开始",
        "\u3044\u3064\u59cb\u307e\u308a\u307e\u3059\u304b",
    ],
    "acknowledgement": [
        "ok",
        "Thanks!",
        "thx a lot",
        "great, thank you so much!",
        "Never mind.",
        "lol",
        "haha nice one",
        "Hello there",
        "thanks Ines",
        "sounds good, will do",
        "yes",
        "No problem at all",
        "That's wonderful news!",
        "I'm so sorry to hear that.",
        "👍",
        "好的谢谢",
        "\u3042\u308a\u304c\u3068\u3046\u3054\u3056\u3044\u307e\u3059",
    ],
    "statement": [
        "The pump is in the cellar.",
        "It's 8787 now. Anything else?",
        "we close at six on fridays",
        "Great Ormond Street moved the appointment to Tuesday",
        "I'm not sure if you know, but I'm allergic to nuts.",
        "Not sure if I told you: I moved to Porto last week.",
        "Maybe I said so, not sure, but my flight is on 3 May",
        "ok the oak boards arrived, 24 of them",
        "yes the blue one, size 42",
        "thanks, the dose is 5 mg now",
        "what i need is a second ladder",
        "when I get home I feed the cat first",
        "when we lived in Turin he was four",
        "Good Friday we are closed",
        "did the dishes already",
        "had my knee scanned on monday",
        "Never on Sundays, I sing then",
        "remember: the spare key is at Olga's",
        "nobody knows act five",
        "who knew the fuse box is behind the mirror",
        "ill with flu all week",
        "r is slower than python here",
        "两点在三号楼开会",
    ],
    "request": [
        "please water the tomatoes on Sunday",
        "can you add a column for the price",
        "pls fix the flaky test",
        "don't touch the staging database yet",
        "bump it",
        "let me know when it's done",
        "update the regex to match dates",
        "book costs for the trip",
    ],
    "plan": [
        "remind me to call the vet",
        "I'll repaint the door in May",
        "we are going to sell the caravan",
        "planning to retire next spring",
        "Let's meet at the harbour",
        "we want to spend August in the hut",
        "I'm flying to Rome tomorrow",
        "We leave on Monday",
        "we're travelling back to the coast next week.",
        "The plan is to visit Kyoto",
        "ill book the tickets tonight",
        "theyll send it monday",
        "were flying out on the 3rd",
    ],
    "correction": [
        "No, Alice is the owner, not Bob",
        "actually it was the left knee",
        "sorry, I meant Thursday",
        "Correction: the dose is 10 mg",
        "The meeting is on the 4th, not the 5th.",
        "no. the red wire goes to the top",
        "she is no longer on the board",
        "no its 4417 not 4471",
        "sorry, meant thursday",
    ],
    "decision": [
        "We decided to use walnut for the top",
        "decision from the meeting: the old server goes",
        "ok let's go with the second offer",
        "Walnut it is.",
        "from now on nobody deploys on Fridays",
    ],
    "quotation": [
        'the doctor wrote: "two tablets, morning and evening"',
        "> we will be closed in August",
        '"The best soup in town, said nobody ever"',
    ],
    "hypothetical": [
        "If I had a boat I would sail to Crete",
        "if we ever win the lottery we buy the whole street",
        "I wish we had kept the old house",
        "Imagine we opened a bakery",
        "we could have taken the train if you had woken up",
        "if we moved to porto id need a car",
        "thinking about switching to a private carer but not sure",
        "not sure if we should move to Leeds",
        "i might take the job, havent decided",
    ],
}


def said(text: str, role: str = "user") -> MessageEvent:
    """A turn."""
    return MessageEvent.model_validate({"event_id": "e", "tenant_id": "t", "role": role, "text": text})


@pytest.mark.parametrize(("expected", "text"), [(act, text) for act, texts in ACTS.items() for text in texts])
def test_the_act_of_a_turn_is_its_strongest_content(expected: SpeechAct, text: str) -> None:
    """Lower case, missing marks and words in front do not matter."""
    assert speech_act(said(text), text) == expected


@pytest.mark.parametrize(
    ("expected", "text"),
    [
        ("statement", "I was going to buy the Canon but got the Fuji X-T5"),
        ("statement", "we were planning to hire Sam, but he declined"),
        ("statement", "Would have gone by train but there was a strike"),
        ("statement", "They were going to close the school until parents protested"),
        ("statement", "We were supposed to meet at Ann's, so I booked a table"),
        ("statement", "she was planning on moving out, then lost her job"),
        ("plan", "I was going to study law at Leiden"),
        ("plan", "We were going to paint it blue but now we'll paint it green"),
        ("plan", "I'm going to buy the Canon but not this month"),
        ("hypothetical", "I would have gone if I had known, but nobody told me"),
        ("hypothetical", "if it hadn't rained we would have won but it did"),
        ("question", "were you going to call him but forgot?"),
    ],
)
def test_a_plan_that_came_to_nothing_states_what_happened(expected: SpeechAct, text: str) -> None:
    """What follows "but", "until" or "so" decides; a condition stays one."""
    assert speech_act(said(text), text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "We deploy on Tuesdays",
        "I fly to Rome on Mondays",
        "I'm flying to Rome every Monday",
        "I'm moving away from Redux next week",
        "When we leave on Monday the key is under the mat",
        "We leave on Monday, the key is under the mat",
        "We leave the flag off on Monday",
        "We're leaving on good terms",
        "The plan is too expensive",
        "The plan is to blame for the delay",
        "The plan was to visit Kyoto",
    ],
)
def test_a_rule_or_a_fact_beside_a_day_is_no_plan(text: str) -> None:
    """A wrong plan is worse than a missed one, because it replaces nothing that holds."""
    assert speech_act(said(text), text) != "plan"


@pytest.mark.parametrize(
    "text",
    [
        "please never call me Bob",
        "pls don't touch the staging database",
        "please no deploys on Thursdays, that's when Nordwind closes its books",
        "could you always use metric units with me?",
        "can you stop suggesting meat dishes, I'm vegetarian",
        "please use pnpm, not npm",
        "Please keep your answers short",
        "please call me Al",
        "please put the calls after lunch, I'm useless in the mornings",
        "please use metric units",
        "please use tabs",
        "please reply in French",
        "please be concise",
    ],
)
def test_a_standing_instruction_is_a_statement(text: str) -> None:
    """It holds until it is taken back, so a recall must not put it behind every statement."""
    assert speech_act(said(text), text) == "statement"
    assert speech_act(said(text, "assistant"), text) in {"request", "question"}


@pytest.mark.parametrize(
    ("text", "act"),
    [
        ("remind me that the bank card expires in march", "statement"),
        ("please remember that Sam is vegan", "statement"),
        ("please remember my birthday is May 4", "statement"),
        ("can you remember that I'm allergic to nuts?", "statement"),
        ("don't forget that mum's flight lands at 9", "statement"),
        ("please keep in mind that the API key rotates monthly", "statement"),
        ("Remind me: bin day is Friday", "statement"),
        ("remind me: call the plumber on Monday", "plan"),
        ("tell mum that I moved to Lyon", "statement"),
        ("tell Jo the key is under the blue pot", "statement"),
        ("let Ana know that we arrive at 9", "statement"),
        ("write an email to Karin saying I quit", "statement"),
        ("Send it to my new email, al@foo.com", "statement"),
        ("book me a table, I'm allergic to nuts", "statement"),
        ("please order the ramp, my mother is in a wheelchair", "statement"),
        ("tell Jo what I said", "request"),
        ("tell him to call me", "request"),
        ("tell me a joke about a cat that is fat", "request"),
        ("can you send the report, I'm not sure where it is", "request"),
        ("fix the tests, they are failing", "request"),
        ("remind me to renew the passport in March", "plan"),
        ("can you remind me tomorrow to call Ana?", "plan"),
        ("please remember what I told you", "request"),
        ("can you remind me of his name?", "request"),
        ("remind me what the wifi password is", "question"),
        ("do you remember my birthday?", "question"),
        ("don't forget to add tests", "request"),
    ],
)
def test_a_request_to_remember_says_what_holds_or_is_due(text: str, act: str) -> None:
    """A request for one act stands behind every statement, where nobody finds what they asked to be kept."""
    assert speech_act(said(text), text) == act


@pytest.mark.parametrize(
    "text",
    [
        "bump go to 1.23 everywhere, ci too",
        "set the timeout to 30s",
        "raise the limit to 1Gi pls",
        "can you change my flight to the 9th",
        "ok move the dentist to the 14th",
        "rename it to ledger-core",
        "make the deposit 300",
        "go with the green one",
        "add Jean to the key holders",
        "remove Tomasz from billing",
        "cancel the gym membership",
        "disable the nightly job",
    ],
)
def test_a_request_that_says_what_is_to_hold_is_a_decision(text: str) -> None:
    """Nobody finds a value among the requests, which stand behind every statement."""
    assert speech_act(said(text), text) == "decision"
    assert speech_act(said(text, "assistant"), text) != "decision" or "go with" in text


@pytest.mark.parametrize(
    "text",
    [
        "cancel it",
        "run the tests",
        "add a test for leap years",
        "raise it",
        "remove the unused imports",
        "update the readme",
    ],
)
def test_a_request_for_work_says_nothing_that_holds(text: str) -> None:
    """It names no value, or a part of the work."""
    assert speech_act(said(text), text) == "request"


@pytest.mark.parametrize(
    "text",
    [
        "check up is 1 april 9.15",
        "check up all good, drops twice a day now",
        "book club moved to friday",
        "build takes 12 min now",
        "build broke on main, its the linter",
        "deploy failed, disk full on web-2",
        "review comments are in",
        "review done, 2 comments",
        "update from the vet: its just a cold",
        "pick up from school is 3.15",
        "fix for the leak is in 2.4.1",
        "schedule changed, tue instead of wed",
        "upgrade to postgres 16 is done on staging",
        "start date is 5 may",
        "this morning",
        "i dont want to build that again",
    ],
)
def test_a_statement_may_begin_with_a_word_that_commands(text: str) -> None:
    """People leave out articles: "build" is the subject where a verb follows."""
    assert speech_act(said(text), text) == "statement"


@pytest.mark.parametrize(
    ("text", "act"),
    [
        (
            "> We should meet on Friday at 10 in the main office as usual.\nThe hall is booked then.",
            "statement",
        ),
        ("> The budget for the offsite is 4,000 as discussed with Kim.\nIt's 5,000 now.", "statement"),
        (
            "On Tue, 3 Mar 2026, Bob wrote:\n> Where do we host?\n> I suggest AWS\n\nHetzner is cheaper.",
            "statement",
        ),
        ("> Where do we host?\nthanks!", "acknowledgement"),
        ("> we close in August\nIs that still so?", "question"),
        ("> we close in August", "quotation"),
        ("On Tue Bob wrote:\n> we close in August\n> and in May", "quotation"),
    ],
)
def test_the_lines_of_another_mail_do_not_decide(text: str, act: str) -> None:
    """What its author says below decides; a quotation alone is one."""
    assert speech_act(said(text), text) == act


def test_please_that_answers_a_question_is_a_statement() -> None:
    """Alone it asks for something."""
    assert speech_act(said("pls"), "pls", answers=True) == "statement"


@pytest.mark.parametrize(
    "text",
    [
        "please send the invoice tomorrow",
        "pls don't send it yet",
        "don't forget to buy milk",
        "can you stop by at five?",
        "please call me back",
        "please use the second image",
        "please write in the file",
        "please use a list comprehension",
        "could you book a table for Friday instead of Thursday?",
        "can you look up when the shop opens on Sundays?",
    ],
)
def test_what_is_asked_for_once_is_a_request(text: str) -> None:
    """It is over when it is done."""
    assert speech_act(said(text), text) in {"request", "question"}


def test_yes_that_answers_a_question_is_a_statement() -> None:
    """Alone it acknowledges."""
    assert speech_act(said("yes"), "yes", answers=True) == "statement"
    assert speech_act(said("yes"), "yes") == "acknowledgement"


def test_no_with_a_reason_answers_and_corrects_only_in_contrast() -> None:
    """An answer that begins with no does not correct anything."""
    assert speech_act(said("no, we take the bus"), "no, we take the bus", answers=True) == "statement"
    text = "no, not the bus, the train"
    assert speech_act(said(text), text, answers=True) == "correction"


def test_an_assistant_asks_and_reports_but_commands_nothing() -> None:
    """A participle ("Set") is no command of it, and "can you" is a question."""
    assert speech_act(said("Set, with a test.", "assistant"), "Set, with a test.") == "statement"
    text = "Can you manage twenty hours?"
    assert speech_act(said(text, "assistant"), text) == "question"


@pytest.mark.parametrize(
    "text",
    [
        "I'm so happy I passed the exam",
        "so sad that our cat died",
        "I'm happy with my new job at the bank",
        "So glad mum is out of hospital",
        "This is terrible for my back",
        "it's hard since dad left",
        "I'm sorry I missed the dentist appointment",
        "It is hard to sleep with the new baby",
        "I'm proud of my daughter",
        "great to finally have a garden",
        "so excited the visa came through",
        "it's awful living next to the motorway",
        "good that the boiler man came",
    ],
)
def test_a_feeling_about_something_of_ones_own_states_it(text: str) -> None:
    """What follows the word of praise or comfort has a content of its own."""
    assert speech_act(said(text), text) == "statement"


@pytest.mark.parametrize(
    "text",
    [
        "I'm so glad you asked first",
        "so happy for you!",
        "What a cute dog",
        "That's a great way to relax",
        "sorry to hear about your dad",
        "I'm so proud of you for trying",
        "Sounds really lovely",
        "it's amazing how animals talk",
        "Congratulations on the new flat!",
        "glad it all worked out",
        "You're really good with kids.",
        "such great news",
    ],
)
def test_praise_and_comfort_for_the_other_speaker_acknowledge(text: str) -> None:
    """They tell nothing of the speaker."""
    assert speech_act(said(text), text) == "acknowledgement"


@pytest.mark.parametrize(
    "text",
    [
        "Which vet do you use? I can look up their opening hours.",
        "How long will you stay? I hope the weather is good.",
        "Got it! I've saved that. Anything else?",
        "Noted, I'll remember that. When is it?",
        "I'd be happy to compare them. Which two?",
        "Glad he's safe. Is there an alarm on the gate?",
    ],
)
def test_an_agents_question_stays_one_beside_offers_promises_and_wishes(text: str) -> None:
    """They state nothing that a memory should rank above the answer."""
    assert speech_act(said(text, "assistant"), text) == "question"


@pytest.mark.parametrize(
    "text",
    [
        "Redux is a solid library. Do you want TypeScript?",
        "I've moved the dentist to Friday at 3. Anything else?",
        "I can see two open invoices. Which one?",
        "I recommend the wool one. Shall I order it?",
        "The flight lands at 9. I can book a taxi. Shall I?",
    ],
)
def test_an_agents_report_and_advice_stay_statements(text: str) -> None:
    """A question beside them does not take their place."""
    assert speech_act(said(text, "assistant"), text) in {"statement", "plan"}
    own = "I can play the cello. Did you know?"
    assert speech_act(said(own), own) == "statement"


def test_what_is_stored_on_purpose_is_never_small_talk() -> None:
    """An explicit memory, a tool's output and a correction have no listener."""
    memory = MemoryEvent(event_id="e", tenant_id="t", text="thanks")
    tool = ToolEvent(event_id="e", tenant_id="t", tool="sh", output="ok?")
    correction = CorrectEvent(event_id="e", tenant_id="t", memory_id="0" * 32, text="It is 5.")
    assert speech_act(memory, "thanks") == "statement"
    assert speech_act(memory, "We decided to move") == "decision"
    assert speech_act(tool, "ok?") == "statement"
    assert speech_act(said("is it?", "tool"), "is it?") == "statement"
    assert speech_act(correction, "It is 5.") == "correction"
