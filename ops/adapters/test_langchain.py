"""The public suites of `langchain-tests`, and what they leave open."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from conftest import new_helix
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from helix_memory.adapters.langchain import HelixRetriever, HelixVectorStore
from helix_memory.client import Helix, InvalidInputError


class TestVectorStore(VectorStoreIntegrationTests):
    """All 24 tests."""

    @pytest.fixture
    def vectorstore(self, helix: Helix) -> HelixVectorStore:
        """An empty store."""
        return HelixVectorStore(helix)


class TestRetriever(RetrieversIntegrationTests):
    """All 4 tests."""

    _helix: Helix

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def remembered(cls) -> Iterator[None]:
        """Four memories."""
        with new_helix() as cls._helix:
            for text in ("We deploy on Tuesdays.", "Ana has a cat.", "The rent is 900 euros."):
                cls._helix.remember(text)
            cls._helix.remember("Ben plays the cello.", wait=True)
            yield

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        """The class."""
        return HelixRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        """Its client."""
        return {"helix": self._helix}

    @property
    def retriever_query_example(self) -> str:
        """A question."""
        return "what pet does Ana have?"


LONG = "\n\n".join(
    f"Section {n}.  The\tfilter of pump {n} is\r\nchanged in week {n}. " * 12 for n in range(12)
)


def test_long_content_and_metadata_come_back_whole(helix: Helix) -> None:
    """Content that Helix keeps in pieces is one document, to the last white space."""
    metadata = {"source": "pumps.py", "nested": {"of": [1, 2.5, None, True, "\u2028 é"]}, "": ""}
    store = HelixVectorStore(helix)
    store.add_documents([Document(id="pumps", page_content=LONG, metadata=metadata)])
    store.add_texts(["The cantine opens at noon."], ids=["cantine"])
    first, second = store.similarity_search("when is the filter of pump 7 changed?", k=2)
    assert first == Document(id="pumps", page_content=LONG, metadata=metadata)
    assert second.id == "cantine"
    assert store.get_by_ids(["pumps"]) == [first]


def test_the_number_is_exact_among_equal_texts(helix: Helix) -> None:
    """A recall drops near-duplicates; a store returns each document."""
    store = HelixVectorStore(helix)
    store.add_texts(["The cat is called Miso."] * 5 + ["The rent is 900 euros."], ids=list("abcdef"))
    assert {one.id for one in store.similarity_search("what is the cat called?", k=5)} == set("abcde")
    assert len(store.similarity_search("cat", k=50)) == 6


def test_a_filter_restricts_before_the_search(helix: Helix) -> None:
    """Also where more documents match better than any recall returns."""
    store = HelixVectorStore(helix)
    store.add_texts(
        [f"The cat number {n} sleeps." for n in range(90)] + ["The dog barks."],
        [{"kind": "cat", "n": n} for n in range(90)] + [{"kind": "dog", "n": 90}],
    )
    assert [one.page_content for one in store.similarity_search("cat", k=3, filter={"kind": "dog"})] == [
        "The dog barks."
    ]
    found = store.similarity_search("cat", k=80, filter={"kind": "cat", "n": {"$lt": 70}})
    assert len(found) == 70
    assert all(one.metadata["n"] < 70 for one in found)


def test_collections_and_users_are_apart(helix: Helix) -> None:
    """A search sees one collection of one user; deleting a collection leaves the others."""
    mine = HelixVectorStore(helix, collection="a")
    other = HelixVectorStore(helix, collection="b")
    bens = HelixVectorStore(helix.acting_as(tenant=helix.tenant, user="ben"), collection="a")
    for store, text in ((mine, "Ana's cat"), (other, "a cat"), (bens, "Ben's cat")):
        store.add_texts([text], ids=["cat"])
    assert [one.page_content for one in bens.similarity_search("cat")] == ["Ben's cat"]
    mine.delete()
    assert mine.similarity_search("cat") == []
    assert other.get_by_ids(["cat"]) != []
    assert bens.get_by_ids(["cat"]) != []


@pytest.mark.parametrize(
    ("document", "field"),
    [
        (Document(page_content=" "), "page_content"),
        (Document(page_content="a", metadata={"at": datetime.now(UTC)}), "metadata"),
        (Document(page_content="a", metadata={"pair": (1, 2)}), "metadata"),
        (Document(page_content="a", metadata={"long": "x" * 2_000}), "metadata"),
    ],
)
def test_what_cannot_be_kept_is_refused(helix: Helix, document: Document, field: str) -> None:
    """The error names the field, and the other documents are not written either."""
    store = HelixVectorStore(helix)
    with pytest.raises(InvalidInputError) as refused:
        store.add_documents([Document(id="fine", page_content="fine"), document])
    assert refused.value.field == field
    assert store.get_by_ids(["fine"]) == []


def test_unknown_arguments_are_refused(helix: Helix) -> None:
    """Nothing that a caller asks for is ignored."""
    store = HelixVectorStore(helix)
    for call in (
        lambda: store.similarity_search("a", score_threshold=0.5),
        lambda: store.similarity_search("a", filter={"n": {"$near": 1}}),
        lambda: store.similarity_search("a", k=-1),
        lambda: HelixRetriever(helix=helix).invoke("a", None, filters={}),
        lambda: HelixVectorStore.from_texts(["a"], object(), helix=helix),
    ):
        with pytest.raises(InvalidInputError):
            call()


def test_scores_and_relevance(helix: Helix) -> None:
    """Scores fall with the rank; relevance is a probability, through the retriever of the store, too."""
    store = HelixVectorStore.from_texts(["We deploy on Tuesdays.", "The cat sleeps."], helix=helix)
    scores = [score for _, score in store.similarity_search_with_score("when do we deploy?")]
    assert scores == sorted(scores, reverse=True)
    best = store.similarity_search_with_relevance_scores("when do we deploy?", k=1)
    assert 0.3 < best[0][1] <= 1
    assert (
        store.as_retriever(search_kwargs={"k": 1}).invoke("deploy")[0].page_content
        == "We deploy on Tuesdays."
    )
