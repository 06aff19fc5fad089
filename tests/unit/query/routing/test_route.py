import time
from datetime import UTC, datetime

import numpy as np
import pytest

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import Window
from helix_query.recall.routing.anchors import DatedMemory, EventMatches
from helix_query.recall.routing.centroids import Centroids, load_centroids
from helix_query.recall.routing.route import names_in, route
from helix_query.recall.routing.rules import intents_by_rule
from helix_shared.timex import EARLIEST

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)  # a Wednesday
NOWHERE = Centroids(
    (Intent.PREFERENCE,), np.array([[1.0, 0.0]], np.float32), np.array([0.0, 1.0], np.float32)
)
PLAIN = np.array([0.0, 1.0], np.float32)

SKIPPED = [
    "what is 17 * 23",
    "17 * 23",
    "What's 12 + 30?",
    "calculate (3 + 4) * 2",
    "how much is 100 divided by 7?",
    "please compute 2 ^ 10",
    "what is the square root of 144?",
    "what is 15% of 80?",
    "convert 10 km to miles",
    "what is 30 celsius in fahrenheit?",
    "hi",
    "Hello there!",
    "good morning",
    "thanks a lot!",
    "Thank you so much.",
    "ok, great, thanks",
    "bye",
    "format this as JSON: colour red, size large",
    "translate 'how are you' to French",
    "please translate this sentence into German: the weather is nice",
]

NOT_SKIPPED = [
    "what is the port of staging",
    "what is my name",
    "what is our deadline",
    "did I finish the report",
    "what did we decide",
    "where does Caroline work",
    "hello, what did Caroline say?",
    "thanks, and what about the database?",
    "hi, who is on call",
    "what is in src/main.py",
    "what does error E1234 mean",
    "format my notes as JSON",
    "format this as JSON: what I told you yesterday",
    "format this as JSON: Caroline, Melanie, Tom",
    "format the release notes as a table",
    "format these values as a list: our three ports",
    "translate the release notes to French",
    "translate what she said to German",
    "translate 'what did I say about the trip' to French",
    "translate this to French: see config/app.toml",
    "translate 'meet Anna on Friday' to German",
    "how do I restart the worker",
    "what is 17 * the rate we agreed on",
    "what is the sum of the invoices",
    "how much is the rent",
    "convert the report to markdown",
    "convert 10 invoices to the new format",
    "what is 2024-05-01 about",
    "what happened on 3/4",
    "what is 192.168.0.1",
    "what is version 1.2",
    "how many children do they have",
    "tell me about the trip",
    "what is the capital of France",
    "when is the next meeting",
    "good morning, anything new since last night?",
    "ok so what was the password policy",
    "bye bye birdie tickets",
    "who is she",
    "nice restaurants she likes",
    "what time is it in the Tokyo office",
    "42",
]


@pytest.mark.parametrize("query", SKIPPED)
def test_what_needs_no_memory_is_skipped(query: str) -> None:
    """Arithmetic, conversions, small talk, and work on text that stands in the query."""
    way = route(query, PLAIN, now=NOW, centroids=NOWHERE)
    assert way.skip
    assert way.reason


@pytest.mark.parametrize("query", NOT_SKIPPED)
def test_what_may_need_memory_is_never_skipped(query: str) -> None:
    """A person's past, a name, a path, a code or a time: look. It is cheap, and a miss is not."""
    assert not route(query, PLAIN, now=NOW, centroids=NOWHERE).skip


def test_the_caller_may_forbid_skipping() -> None:
    """`never_skip` looks even for small talk."""
    assert not route("thanks", PLAIN, now=NOW, centroids=NOWHERE, may_skip=False).skip


@pytest.mark.parametrize(
    ("query", "intents"),
    [
        ("Why did we choose Postgres?", {"why"}),
        ("When did she move to Berlin?", {"when"}),
        ("Who wrote the parser?", {"who"}),
        ("How do I rotate the secrets?", {"how"}),
        ("Which editor does he prefer?", {"what", "preference"}),
        ("How many deployments were there before the audit?", {"aggregation", "temporal"}),
        ("What is the current port of the staging server?", {"what", "current_value"}),
        ("what is the port of staging", {"what", "current_value"}),
        ("What does src/app/loader.py do?", {"what", "exact_lookup"}),
        ("error ECONNREFUSED in fetch_all()", {"exact_lookup"}),
        ("Who is the mother of the director of film Polish Summer?", {"who", "multi_hop"}),
        ("Which film has the director born later, Red Dust or Blue Night?", {"what", "multi_hop"}),
        ("What position was held by the woman who portrayed Anna Gray?", {"what", "multi_hop"}),
        ("Are North River and South River in the same country?", {"multi_hop"}),
        ("The bridge that Ada Lund designed crosses which river?", {"multi_hop"}),
        ("Who was born first, Ada Lund or Karl Brandt?", {"multi_hop"}),
        ("What do Ada Lund and Karl Brandt have in common?", {"multi_hop"}),
        ("In which city is the school located where the painter Ada Lund taught?", {"multi_hop"}),
        ("Which library does the author of the parser maintain?", {"multi_hop"}),
        ("Which version of the linter did the backend use in May 2023?", {"current_value"}),
        ("Which version of the linter does the backend use?", {"current_value"}),
        ("What limit did we put on uploads in early 2022?", {"current_value"}),
        ("How many open tickets does my board have?", {"current_value", "aggregation"}),
        ("When is my call with the bank scheduled?", {"current_value", "when"}),
        ("definition of parse_header", {"exact_lookup"}),
        ("register", {"exact_lookup"}),
        ("show me the code of flush()", {"exact_lookup"}),
        ('what raises "ValueError: bad magic number"?', {"exact_lookup"}),
        (
            "ValueError: bad magic number in the header of the third archive that was read today",
            {"exact_lookup"},
        ),
        ("In what order did we visit the cities?", {"temporal"}),
        ("Can you give me a summary of how the project has developed?", {"aggregation"}),
        ("How would you suggest I plan my week?", {"preference"}),
    ],
)
def test_intents_are_read_off_the_words(query: str, intents: set[str]) -> None:
    """Each question shows at least these intents."""
    assert intents <= set(intents_by_rule(query))


@pytest.mark.parametrize(
    "query",
    [
        "What did Caroline say about the garden?",
        "Where does Tom live?",
        "What is the dog called?",
        "When did Melanie run the race?",
        "What books has Tom read?",
        "how are the secrets rotated",
    ],
)
def test_a_plain_question_does_not_let_the_graph_lead(query: str) -> None:
    """Graph mass leads only where several hops are asked for; on chat it would hurt."""
    assert "multi_hop" not in intents_by_rule(query)


@pytest.mark.parametrize(
    ("query", "intent"),
    [
        ("The parser now keeps the latest token.", "current_value"),
        ("What was the name of the dog?", "current_value"),
        ("Which version did she like?", "current_value"),
        ("How many weeks passed between the two trips?", "current_value"),
        (
            "Fixed a crash of `flush()` when a session that was restored from an old snapshot ends early",
            "exact_lookup",
        ),
        ("CD28 is expressed on T cells.", "exact_lookup"),
        ("What kind of music does Mira like?", "exact_lookup"),
        ("Which book that Mira liked did Tom read?", "exact_lookup"),
        ("Can you list the order in which I brought up the topics?", "multi_hop"),
    ],
)
def test_what_only_sounds_like_an_intent_has_it_not(query: str, intent: str) -> None:
    """Statements ask nothing, a past without a date has no moment, a mention in passing is no look-up."""
    assert intent not in intents_by_rule(query)


def test_an_intent_by_example_needs_a_margin_over_plain_questions() -> None:
    """Cosine .8 to the examples, .6 to plain questions: margin .2 reaches .1 but not .3."""
    vector = np.array([0.8, 0.6], np.float32)
    assert NOWHERE.near(vector, margin=0.1) == ("preference",)
    assert NOWHERE.near(vector, margin=0.3) == ()


def test_every_group_of_examples_has_a_centroid_of_length_one() -> None:
    """Centroids are compared by cosine; `plain` is the yardstick, not an intent."""

    def embed(text: str) -> np.ndarray:
        random = np.random.default_rng(sum(text.encode()))
        vector = random.normal(size=8).astype(np.float32)
        return vector / np.linalg.norm(vector)

    centroids = load_centroids(embed)
    assert "plain" not in centroids.intents
    assert {"preference", "aggregation", "multi_hop", "current_value"} <= set(centroids.intents)
    assert np.linalg.norm(centroids.vectors, axis=1) == pytest.approx(1.0)


def test_a_time_expression_becomes_a_window() -> None:
    """Last week, asked on Wednesday 4 March 2026, is Monday 23 February to Monday 2 March."""
    way = route("what did we discuss last week", PLAIN, now=NOW, centroids=NOWHERE)
    assert way.window == Window(datetime(2026, 2, 23, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))


@pytest.mark.parametrize(
    ("query", "moment"),
    [
        # the end of the month, not after the moment of asking, none for what lies ahead or names no time
        ("Which version did the gateway use in December 2020?", datetime(2021, 1, 1, tzinfo=UTC)),
        ("Which version did the gateway use this month?", NOW),
        ("What was the limit before May 2024?", datetime(2024, 5, 1, tzinfo=UTC)),
        ("What has changed since May 2024?", NOW),
        ("What is planned for next month?", None),
        ("Which version does the gateway use?", None),
    ],
)
def test_a_question_about_a_past_time_has_a_latest_moment(query: str, moment: datetime | None) -> None:
    """The end of the time it speaks of, at most now."""
    assert moment == route(query, PLAIN, now=NOW, centroids=NOWHERE).as_of_moment


def test_an_event_is_looked_up_only_where_one_dates_the_question() -> None:
    """One look-up for "before the migration"; none for a date, a statement or a plain question."""
    asked = []

    def look_up_event(phrase: str) -> EventMatches:
        asked.append(phrase)
        start = datetime(2026, 1, 10, tzinfo=UTC)
        return EventMatches(
            {"migrat": 5.0}, [DatedMemory(frozenset(["migrat"]), start, datetime(2026, 1, 11, tzinfo=UTC))]
        )

    way = route(
        "What did we use before the migration?",
        PLAIN,
        now=NOW,
        centroids=NOWHERE,
        look_up_event=look_up_event,
    )
    assert way.window == Window(EARLIEST, datetime(2026, 1, 11, tzinfo=UTC))
    assert way.as_of_moment == datetime(2026, 1, 11, tzinfo=UTC)
    assert "before 'the migration'" in way.reason
    for query in ("What did we use before May?", "Restart workers before the migration.", "Who is on call?"):
        route(query, PLAIN, now=NOW, centroids=NOWHERE, look_up_event=look_up_event)
    assert asked == ["the migration"]


def test_an_event_that_no_memory_dates_leaves_no_window() -> None:
    """The reason says what was looked for."""
    way = route(
        "what broke after the move?",
        PLAIN,
        now=NOW,
        centroids=NOWHERE,
        look_up_event=lambda _: EventMatches({}),
    )
    assert way.window is None
    assert "no memory dates it: after 'the move'" in way.reason


def test_examples_do_not_overrule_the_words() -> None:
    """A statement has no intent by example, and talk about one first name is no multi-hop question."""
    near = Centroids((Intent.MULTI_HOP,), np.array([[1.0, 0.0]], np.float32), PLAIN)
    vector = np.array([1.0, 0.0], np.float32)
    for query in ("Misunderstandings lead to mistakes.", "When did Anna say she likes the garden?"):
        assert "multi_hop" not in route(query, vector, now=NOW, centroids=near).intents
    assert (
        "multi_hop"
        in route("Which library does the date module need?", vector, now=NOW, centroids=near).intents
    )


def test_names_of_the_query_are_canonical() -> None:
    """Names and stretches that may be titles, spelt as the graph spells them."""
    names = names_in("Who directed Polish Summer?")
    assert "polish summer" in names


def test_a_common_word_is_no_name_in_a_query_with_capitals() -> None:
    """Somewhere there is a title "Director"; only a query without capitals may mean it."""
    assert "director" not in names_in("Who is the director of Polish Summer?")
    assert "caroline" in names_in("what did caroline plant")


@pytest.mark.parametrize(
    "query",
    [
        "A " * 2048,
        "(" * 3000,
        "same " * 800,
        "1 + " * 1024,
        "hi " * 1300,
        "the a the a who who who " * 170,
        "director of director of " * 170,
        "'" * 4096,
        "translate " + '"' * 4000,
        "a_b/" * 1024,
        "\x00" * 4096,
        "Aa and Bb or " * 300,
        "please " * 585,
    ],
)
def test_hostile_queries_are_routed_quickly(query: str) -> None:
    """Every pattern is bounded: no query of 4,096 characters takes long."""
    started = time.perf_counter()
    route(query[:4096], PLAIN, now=NOW, centroids=NOWHERE)
    assert time.perf_counter() - started < 0.25


@pytest.mark.parametrize("year", [1, 9999])
@pytest.mark.parametrize(
    "query", ["what happened last week", "in two years", "since yesterday", "10,000 days ago"]
)
def test_any_time_may_be_the_time_of_the_question(year: int, query: str) -> None:
    """`now` is the caller's; the ends of time are no reason to fail."""
    assert not route(query, PLAIN, now=datetime(year, 1, 1, tzinfo=UTC), centroids=NOWHERE).skip
