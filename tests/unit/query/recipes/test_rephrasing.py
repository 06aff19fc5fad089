import pytest

from helix_query.profile.intent import Intent
from helix_query.recall.recipes.rephrasing import asked_events, own_statements, rephrase, topic_words
from tests.unit.linear_time import Linear, repeated


def test_a_preference_is_rephrased_as_a_statement() -> None:
    """As "I use X", "I prefer X", "my favourite X"."""
    found = rephrase("Can you recommend a good text editor?", (Intent.PREFERENCE,), most=3)
    assert found == ("I use text editor", "I prefer text editor", "my favourite text editor")


@pytest.mark.parametrize(
    ("query", "subject"),
    [
        ("Can you recommend some resources about video editing?", "resources video editing"),
        ("What should I serve for dinner this weekend?", "serve dinner weekend"),
        ("Any ideas for Anna's birthday?", "Anna's birthday"),
        ("Which hotel would you suggest in Miami?", "hotel Miami"),
        ("What do you recommend?", ""),
    ],
)
def test_the_topic_has_no_words_of_asking_or_liking(query: str, subject: str) -> None:
    """It has the words that a statement of the user shares with the question."""
    assert topic_words(query) == subject


@pytest.mark.parametrize(
    ("query", "named"),
    [
        ("Which happened first, the trip to Rome or the move to Berlin?", ["trip Rome", "move Berlin"]),
        ("How many days between my dentist visit and the marathon?", ["dentist visit", "marathon"]),
        ("Did I adopt the cat before I changed jobs?", ["adopt cat", "changed jobs"]),
        ("When did I last go hiking?", ["hiking"]),
        ("How long ago?", []),
    ],
)
def test_a_temporal_question_is_rephrased_as_its_events(query: str, named: list[str]) -> None:
    """Without the words of time."""
    assert asked_events(query) == named


def test_rephrasings_of_both_intents_are_limited_together() -> None:
    """Other intents have none."""
    query = "Should I get the laptop I used before the trip?"
    assert len(rephrase(query, (Intent.PREFERENCE, Intent.TEMPORAL), most=4)) == 4
    assert len(rephrase(query, (Intent.PREFERENCE, Intent.TEMPORAL), most=8)) == 5
    assert rephrase(query, (Intent.WHO, Intent.WHEN), most=8) == ()


def test_a_question_without_a_topic_is_not_rephrased() -> None:
    """The words "I use" alone matches every statement."""
    assert rephrase("What would you recommend?", (Intent.PREFERENCE,), most=3) == ()


def test_own_statements_are_sentences_with_a_preference() -> None:
    """The first of each text; sentences about others do not count."""
    texts = [
        "Long day. I mostly use Neovim for Python. I also like tea.",
        "My favourite editor is Helix!",
        "The weather was fine.",
        "She uses Emacs.",
    ]
    assert own_statements(texts, most=3) == (
        "I mostly use Neovim for Python",
        "My favourite editor is Helix",
    )
    assert own_statements(texts, most=1) == ("I mostly use Neovim for Python",)


@pytest.mark.parametrize("piece", ["between ", "before ", "a", ",", "I use "])
def test_hostile_queries_are_read_in_linear_time(piece: str, linear_beginnings: Linear) -> None:
    """No pattern backtracks far."""

    def read(query: str) -> None:
        rephrase(query, (Intent.PREFERENCE, Intent.TEMPORAL), most=8)
        own_statements([query], most=3)

    assert not linear_beginnings.failures(read, texts=repeated(piece))
