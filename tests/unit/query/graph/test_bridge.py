from helix_query.recall.graph.bridge import bridges
from helix_shared.artifacts.lexicon.analysis import stems

FILM = (
    "The Silver Tide",
    (
        "The Silver Tide is a 1961 drama film directed by Marta Velden and starring Otto Brandt. "
        "It was shot in Lisbon, where the harbour scenes took eleven weeks and two storms."
    ),
)


def test_the_name_next_to_the_relation_is_the_bridge() -> None:
    """The question says "director", the text "directed by"; the actor is farther away."""
    found = bridges(
        "Who is the mother of the director of The Silver Tide?", ["the silver tide"], [FILM], stems=stems
    )
    assert max(found, key=lambda name: found[name]) == "marta velden"
    assert found["marta velden"] > 2 * found.get("otto brandt", 0.0)


def test_a_name_in_the_question_is_no_bridge() -> None:
    """Neither is the title of the evidence."""
    found = bridges("Did Marta Velden direct The Silver Tide?", ["marta velden"], [FILM], stems=stems)
    assert "marta velden" not in found
    assert "the silver tide" not in found


def test_a_question_without_words_in_the_evidence_has_no_bridge() -> None:
    """The same holds for words of its relations."""
    assert bridges("What colour is it?", [], [FILM], stems=stems) == {}


def test_the_first_evidence_counts_most() -> None:
    """A name counts 1 / (1 + .2 x rank) by the rank of its text."""
    other = ("Nothing", "A text without anybody.")
    first = bridges("Who directed it?", [], [FILM, other], stems=stems)["marta velden"]
    second = bridges("Who directed it?", [], [other, FILM], stems=stems)["marta velden"]
    assert abs(second - first / 1.2) < 1e-12
