"""LangChain: `HelixRetriever` recalls from all memories of a caller, `HelixVectorStore` keeps documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Self
from uuid import uuid4

from helix_memory.adapters import conditions, missing_extra, records
from helix_memory.adapters.record_store import RecordStore, whole_number
from helix_memory.adapters.records import Record
from helix_memory.adapters.shown import shown_fields
from helix_memory.client import Helix
from helix_memory.errors import InvalidInputError

try:
    from langchain_core.documents import Document
    from langchain_core.retrievers import BaseRetriever
    from langchain_core.vectorstores import VectorStore
    from pydantic import ConfigDict, Field
except ModuleNotFoundError as error:
    raise missing_extra("langchain", error) from error

if TYPE_CHECKING:
    from helix_memory.adapters.reading import Found

KIND: Final = "langchain"


class HelixRetriever(BaseRetriever):
    """The memories that answer a question, from all that the caller of the client may recall.

        HelixRetriever(helix=helix, k=5).invoke("when do we deploy?")

    `options` are those of `Helix.recall`; `k` and further options may be given to `invoke`. A question for
    which Helix abstains still gets its best memories; `metadata["relevance"]` tells how probable each is.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    helix: Helix
    k: int = 4
    """Number of documents, 1 to 200."""
    options: dict[str, Any] = Field(default_factory=dict)

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any, k: int | None = None, **options: Any
    ) -> list[Document]:
        del run_manager
        wanted = {"never_skip": True, **self.options, **options, "top_k": self.k if k is None else k}
        found = self.helix.recall(query, **wanted)
        return [
            Document(id=one.id, page_content=one.text, metadata=shown_fields(one)) for one in found.memories
        ]


class HelixVectorStore(VectorStore):
    """Documents under their own ids, found by meaning and by words; Helix makes the vectors.

        store = HelixVectorStore(helix, collection="handbook")
        store.add_texts(["We deploy on Tuesdays."], metadatas=[{"page": 4}], ids=["deploy"])

    It belongs to tenant and user of the client. Adding an id again replaces its document, deleting erases
    it for good, and every read sees what was written through this object before. A client without a user
    writes for the whole tenant: both reach the documents of that id of every user. Page content has at most
    100,000 characters; metadata is JSON of about 1,900 characters.
    """

    def __init__(self, helix: Helix, *, collection: str = "default") -> None:
        self.collection = collection
        self._store = RecordStore(helix, KIND, is_item=_has_metadata)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Any = None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        helix: Helix | None = None,
        collection: str = "default",
    ) -> Self:
        """A store with these texts; `helix` is needed, and `embedding` must be None.

        Raises:
            InvalidInputError: there is no client, or an embedding, which Helix would not use.
        """
        if embedding is not None:
            raise InvalidInputError("embedding", "must be None: Helix embeds with its own model")
        if helix is None:
            raise InvalidInputError("helix", "must be a client: from_texts(texts, None, helix=Helix(...))")
        store = cls(helix, collection=collection)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def add_documents(
        self, documents: list[Document], *, ids: Sequence[str | None] | None = None, **unknown: Any
    ) -> list[str]:
        """Keep documents and return their ids: `ids`, else those of the documents, else new ones.

        Raises:
            InvalidInputError: a document holds no text or too much, or metadata is no JSON or too long.
                Nothing is written then.
        """
        _refuse(unknown)
        if ids is not None and len(ids) != len(documents):
            raise InvalidInputError("ids", f"are {len(ids)} for {len(documents)} documents")
        given = [one.id for one in documents] if ids is None else ids
        names = [one or uuid4().hex for one in given]
        made = [self._record(name, one) for name, one in zip(names, documents, strict=True)]
        for one in made:
            self._store.put(one)
        return names

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        """The documents of these ids, those that exist."""
        return [_document(one) for one in self._store.get(self.collection, ids)]

    def delete(self, ids: list[str] | None = None, **unknown: Any) -> bool:
        """Erase documents with all their versions, from the log of Helix, too; None: the whole collection."""
        _refuse(unknown)
        if ids is None:
            self._store.erase_all(self.collection)
        else:
            self._store.erase(self.collection, ids)
        return True

    def similarity_search(
        self,
        query: str,
        k: int = 4,
        filter: Mapping[str, Any] | None = None,  # noqa: A002  its name in LangChain
        **unknown: Any,
    ) -> list[Document]:
        """The `k` best documents, or all if there are fewer.

        Args:
            query: at most 4,096 characters.
            k: number of documents.
            filter: values of metadata, or {"$gte": 4} and the like; the collection is read whole for it.
            **unknown: refused.

        Raises:
            InvalidInputError: an argument is unknown or breaks a limit.
        """
        return [_document(one) for one in self._found(query, k, filter, unknown)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Mapping[str, Any] | None = None,  # noqa: A002  its name in LangChain
        **unknown: Any,
    ) -> list[tuple[Document, float]]:
        """The same with scores: greater is better, inside one answer alone; 0 for what no search found."""
        found = self._found(query, k, filter, unknown)
        return [(_document(one), one.best.score if one.best else 0.0) for one in found]

    def _similarity_search_with_relevance_scores(
        self, query: str, k: int = 4, **options: Any
    ) -> list[tuple[Document, float]]:
        """The same with the calibrated probability that a document is relevant."""
        found = self._found(query, k, options.pop("filter", None), options)
        return [(_document(one), (one.best.relevance if one.best else None) or 0.0) for one in found]

    def _found(
        self, query: str, k: int, filters: Mapping[str, Any] | None, unknown: Mapping[str, Any]
    ) -> list[Found]:
        _refuse(unknown)
        wanted = conditions.checked(filters)
        return self._store.search(
            query,
            [self.collection],
            limit=whole_number("k", k),
            admits=(lambda one: conditions.admits(wanted, one.note["metadata"])) if wanted else None,
        )

    def _record(self, name: str, document: Document) -> Record:
        if not document.page_content.strip():
            raise InvalidInputError("page_content", "holds no text")
        records.json_of("page_content", document.page_content)
        return Record.of(
            KIND,
            self.collection,
            name,
            document.page_content,
            {"metadata": document.metadata},
            field="metadata",
        )


def _has_metadata(found: Found) -> bool:
    return isinstance(found.note.get("metadata"), dict)


def _document(found: Found) -> Document:
    return Document(id=found.name, page_content=found.body or "", metadata=dict(found.note["metadata"]))


def _refuse(unknown: Mapping[str, Any]) -> None:
    for name in unknown:
        raise InvalidInputError(name, "is unknown")
