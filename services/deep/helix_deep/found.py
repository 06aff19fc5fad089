"""Every memory that a list of one call holds, as the query service returned it."""

from __future__ import annotations

from datetime import UTC
from typing import TYPE_CHECKING, Final

from helix_deep.questions.rerank import Candidate
from helix_deep.stages.fuse import QUESTION_WEIGHT, Fused, Listed, RankedList
from helix_memory.recall.v1 import recall_pb2
from helix_memory.vocabulary.speech_acts import FLAGS
from helix_shared.endpoint.passages import plain as plain_text

SECRET_FLAG: Final = next(flag for flag in FLAGS if flag == "secret")
"""A memory that holds a credential."""

if TYPE_CHECKING:
    from collections.abc import Container, Sequence


class Found:
    """Memories by id, and the lists to fuse; the plain recall comes first."""

    def __init__(self) -> None:
        self.lists: list[RankedList] = []
        self.degraded: dict[str, None] = {}
        """Searches of the query service that failed for a list."""
        self._memories: dict[str, recall_pb2.RecalledMemory] = {}

    def add_plain(self, answer: recall_pb2.RecallResponse, wide: recall_pb2.RecallResponse) -> None:
        """The plain recall and the longer list of the same question, which is the one that is fused."""
        self._keep(answer)
        self._keep(wide)
        self.lists.append(RankedList(_listed(wide), QUESTION_WEIGHT))

    def add(self, answer: recall_pb2.RecallResponse, *, without: Container[str] = ()) -> None:
        """The list of another text, but for some ids; how relevant it is to the question is not known."""
        self._keep(answer, relevance=False)
        listed = [one for one in _listed(answer) if one.memory_id not in without]
        if listed:
            self.lists.append(RankedList(listed))

    def memory(self, memory_id: str) -> recall_pb2.RecalledMemory:
        """A memory as the first list that has it returned it."""
        return self._memories[memory_id]

    def candidate(self, memory_id: str) -> Candidate:
        """A memory as the language model sees it."""
        memory = self._memories[memory_id].memory
        day = ""
        if memory.HasField("occurred_at"):
            day = memory.occurred_at.ToDatetime(tzinfo=UTC).date().isoformat()
        return Candidate(memory.text, day, memory.source.speaker or memory.source.role)

    def is_secret(self, memory_id: str) -> bool:
        """Whether ingest found a credential in it; the language model does not see such a memory."""
        return SECRET_FLAG in self._memories[memory_id].memory.flags

    def says(self, memory_id: str) -> frozenset[str]:
        """Keys of what a memory says: its text, and the turn that it is or was derived from."""
        memory = self._memories[memory_id].memory
        return frozenset({plain_text(memory.text).casefold(), memory.derived_from or memory_id})

    def with_all_of(self, answer: recall_pb2.RecallResponse, fused: Sequence[Fused]) -> list[Fused]:
        """`fused`, and at the end the memories of the plain recall that its longer list lacks."""
        known = {one.memory_id for one in fused}
        ids = [one.memory.memory_id for one in answer.memories]
        return [*fused, *(Fused(memory_id, 0.0) for memory_id in ids if memory_id not in known)]

    def _keep(self, answer: recall_pb2.RecallResponse, *, relevance: bool = True) -> None:
        self.degraded.update(dict.fromkeys(answer.degraded))
        for one in answer.memories:
            key = one.memory.memory_id
            if key in self._memories:
                channels = [*self._memories[key].channels, *one.channels]
                self._memories[key].channels[:] = list(dict.fromkeys(channels))
                continue
            kept = self._memories[key] = recall_pb2.RecalledMemory()
            kept.CopyFrom(one)
            if not relevance:
                kept.ClearField("relevance")


def _listed(answer: recall_pb2.RecallResponse) -> list[Listed]:
    return [Listed(one.memory.memory_id, one.cosine, one.score) for one in answer.memories]
