from helix_lab.calibration.attribute_questions import LOWER_CASE, TEMPLATES, attribute_questions, names_of
from helix_lab.sets.data import Document, EvaluationSet, Question


def document(text: str, *, speaker: str = "", tenant: str = "a", number: int = 0) -> Document:
    """A document of a tenant."""
    return Document(f"d{number}", text, "", "", "", speaker, tenant)


HOSPITAL = [
    document("The new rota is from Philippa, and Philippa wants it signed.", speaker="Gwen"),
    document("I told Philippa that Ward Seven is full.", speaker="assistant"),
    document("On Monday we met. On Monday nobody came, monday monday monday.", speaker="user"),
]


def test_names_are_speakers_and_words_with_a_capital() -> None:
    """Roles, words seen once and words that are mostly written small are none."""
    assert names_of(HOSPITAL) == ["Philippa", "Gwen"]


def test_questions_are_spread_over_the_tenants_that_have_names() -> None:
    """Each is asked at the moment of a question of its tenant; no judgement names it."""
    documents = [
        *HOSPITAL,
        document("Ask Tomasz.", speaker="Tomasz", tenant="b"),
        document("none", tenant="c"),
    ]
    questions = [
        Question(f"q{tenant}", "?", "", f"2024-0{n}-01", tenant) for n, tenant in enumerate("abc", 1)
    ]
    data = EvaluationSet("s", documents, questions, {})
    asked = attribute_questions(data, count=40, seed=0)
    assert {one.question.tenant for one in asked} == {"a", "b"}
    assert {one.question.timestamp for one in asked if one.question.tenant == "b"} == {"2024-02-01"}
    assert {one.kind for one in asked} == {"attribute"}
    assert asked == attribute_questions(data, count=40, seed=0)
    small = sum("tomasz" in one.question.text for one in asked if one.question.tenant == "b")
    assert 0 < small < 20 * 2 * LOWER_CASE
    assert len(asked) == 40 == 2 * len(TEMPLATES)


def test_a_set_without_names_gets_none() -> None:
    """There is nobody to ask about."""
    data = EvaluationSet("s", [document("nothing here")], [Question("q", "?", "", "", "a")], {})
    assert attribute_questions(data, count=40, seed=0) == []
