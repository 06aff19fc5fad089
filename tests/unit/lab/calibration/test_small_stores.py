from helix_lab.calibration.small_stores import OTHERS, small_stores
from helix_lab.sets.data import Document, EvaluationSet, Question

SIZES = (1, 3, 10)


def one_set(*, documents: int = 20) -> EvaluationSet:
    """Two tenants with as many documents each; question n of a tenant is answered by its document n."""
    tenants = ("ann", "bob")
    return EvaluationSet(
        "s",
        [Document(f"{t}-{n}", f"text {n}", "", "", "", "", t) for t in tenants for n in range(documents)],
        [Question(f"{t}-q{n}", f"what is {n}?", "", "", t) for t in tenants for n in range(documents)],
        {f"{t}-q{n}": {f"{t}-{n}": 1.0} for t in tenants for n in range(documents)},
    )


def test_a_store_is_a_run_of_documents_with_its_answer() -> None:
    """Every store has its size, keeps the order of the set, and holds what answers its question."""
    cut = small_stores(one_set(), sizes=SIZES, stores=5)
    tenants = {document.tenant for document in cut.data.documents}
    assert len(tenants) == 5 * len(SIZES)
    for tenant in tenants:
        numbers = [int(one.id.rsplit("-", 1)[1]) for one in cut.data.documents if one.tenant == tenant]
        assert len(numbers) == int(tenant.rsplit("/", 1)[1])
        assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
        asked = [one for one in cut.asked if one.question.tenant == tenant]
        assert [one.kind for one in asked] == ["answerable", *["unanswerable"] * OTHERS]
        held = {one.id for one in cut.data.documents if one.tenant == tenant}
        assert set(cut.data.relevant[asked[0].question.id]) <= held


def test_a_question_without_an_answer_has_none_in_the_store() -> None:
    """It is a question of the same tenant whose document was left out."""
    cut = small_stores(one_set(), sizes=SIZES, stores=5)
    texts = {(one.tenant, one.text.split()[-1]) for one in cut.data.documents}
    for one in cut.asked:
        number = one.question.text.removesuffix("?").split()[-1]
        assert ((one.question.tenant, number) in texts) == (one.kind == "answerable")


def test_a_tenant_with_fewer_documents_gives_no_store_of_that_size() -> None:
    """Nothing is padded."""
    cut = small_stores(one_set(documents=5), sizes=(3, 10), stores=4)
    assert {document.tenant.rsplit("/", 1)[1] for document in cut.data.documents} == {"3"}


def test_the_same_seed_cuts_the_same_stores() -> None:
    """A calibration can be repeated."""
    first, second, other = (small_stores(one_set(), sizes=SIZES, stores=3, seed=seed) for seed in (1, 1, 2))
    assert first == second
    assert first != other
