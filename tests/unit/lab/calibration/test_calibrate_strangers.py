from helix_lab.calibration.unanswerable_questions import asked_of
from helix_lab.sets.data import Document, EvaluationSet, Question


def made(name: str, tenants: dict[str, list[str]], *, titled: bool = False) -> EvaluationSet:
    """A set of tenants with these texts; each text has a question of its tenant."""
    rows = [(tenant, text) for tenant, texts in tenants.items() for text in texts]
    documents = [
        Document(f"d{n}", text, text[:8] if titled else "", "", "", "", tenant)
        for n, (tenant, text) in enumerate(rows)
    ]
    questions = [
        Question(f"q{n}", f"what of {text}?", "", f"2024-01-{n + 1:02}", tenant)
        for n, (tenant, text) in enumerate(rows)
    ]
    return EvaluationSet(name, documents, questions, {f"q{n}": {f"d{n}": 1.0} for n in range(len(rows))})


def texts_of(kind: str, count: int) -> list[str]:
    """Texts that occur in no other set."""
    return [f"{kind} number {n}" for n in range(count)]


def test_strangers_are_asked_of_another_tenant_at_its_own_time() -> None:
    """Two tenants ask each other; a question keeps its words and gets the other's tenant and moment."""
    data = made("s", {"a": texts_of("apple", 12), "b": texts_of("pear", 12)})
    asked = [one for one in asked_of(data, [data], strangers=5, seed=0) if one.kind == "stranger"]
    assert len(asked) == 20
    moments = {
        tenant: {one.timestamp for one in data.questions if one.tenant == tenant} for tenant in ("a", "b")
    }
    for one in asked:
        assert ("apple" in one.question.text) == (one.question.tenant == "b")
        assert one.question.timestamp in moments[one.question.tenant]
        assert one.question.id not in data.relevant


def test_the_strangers_of_a_seed_are_always_the_same() -> None:
    """Another seed asks others."""
    data = made("s", {"a": texts_of("apple", 12), "b": texts_of("pear", 12)})
    first = asked_of(data, [data], strangers=1, seed=0)
    assert first == asked_of(data, [data], strangers=1, seed=0)
    assert first != asked_of(data, [data], strangers=1, seed=1)


def test_who_shares_documents_is_no_stranger() -> None:
    """Two of ten texts in common: the answer may be there."""
    host = made("host", {"": texts_of("apple", 10)})
    alike = made("alike", {"": [*texts_of("apple", 2), *texts_of("pear", 8)]})
    other = made("other", {"": texts_of("plum", 10)})
    asked = asked_of(host, [host, alike, other], strangers=3, seed=0)
    assert [one.donor for one in asked if one.kind == "stranger"] == ["other"] * 3


def test_a_question_is_not_asked_of_a_store_with_its_own_document() -> None:
    """One common text of twenty does not exclude the tenant, but it excludes its own question."""
    host = made("host", {"": texts_of("apple", 20)})
    donor = made("donor", {"": [*texts_of("apple", 1), *texts_of("pear", 19)]})
    asked = asked_of(host, [donor], strangers=100, seed=0)
    strangers = [one.question.text for one in asked if one.kind == "stranger"]
    assert len(strangers) == 19
    assert not [text for text in strangers if "apple" in text]
