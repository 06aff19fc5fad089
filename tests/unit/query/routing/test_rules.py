import pytest

from helix_query.profile.intent import Intent
from helix_query.recall.routing.rules import intents_by_rule, is_question


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
        ("whats the port of staging now", {"what", "current_value"}),
        ("and whos on call these days", {"who", "current_value"}),
        ("by when must the book be in", {"when"}),
        ("for what reason was the cap lowered", {"why"}),
        ("the vet rang again, what do i tell them", {"what"}),
    ],
)
def test_intents_are_found_in_the_words(query: str, intents: set[str]) -> None:
    """At least these intents are found."""
    assert intents <= set(intents_by_rule(query))


@pytest.mark.parametrize(
    "query",
    [
        "when did caroline go to the support group",
        "what country is carolines grandma from",
        "What did Caroline say about the garden?",
        "Where does Tom live?",
        "What is the dog called?",
        "When did Melanie run the race?",
        "What books has Tom read?",
        "how are the secrets rotated",
    ],
)
def test_a_plain_question_is_not_multi_hop(query: str) -> None:
    """Graph mass leads the ranking of multi-hop questions, which hurts on chat."""
    assert Intent.MULTI_HOP not in intents_by_rule(query)


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
        ("Where do I live?", "exact_lookup"),
        ("where does Mira live", "exact_lookup"),
        ("Can you list the order in which I brought up the topics?", "multi_hop"),
    ],
)
def test_an_intent_is_not_found_in_similar_words(query: str, intent: str) -> None:
    """A statement, a past tense without a date, a symbol mentioned in a sentence, and a home."""
    assert intent not in intents_by_rule(query)


@pytest.mark.parametrize(
    "text", ["for what it's worth the rent went up", "from what i heard she moved to Lyon last year"]
)
def test_words_that_open_a_statement_ask_nothing(text: str) -> None:
    """Though a preposition and a question word stand there."""
    assert not is_question(text)
