"""A client that holds a few memories, for the tests of the names of the reference server `memory`."""

from collections.abc import Iterable, Sequence
from typing import Any

from helix_gateway.callers import Caller
from helix_gateway.mcp.names.server_memory import SERVER_MEMORY
from helix_gateway.operations.requests import parsed
from helix_memory import limits
from helix_memory.client import MemoryPage, MemoryStates, Recalled, Written
from helix_memory.identity import memory_id
from helix_memory.recall import checks
from helix_memory.recall.v1 import recall_pb2
from helix_shared.errors import InvalidInputError, NotFoundError

TOOLS = {one.name: one for one in SERVER_MEMORY}


class Store:
    """Stands for the client: every memory is linked to the entities that its text names."""

    def __init__(self) -> None:
        self.memories: dict[str, recall_pb2.Memory] = {}
        self.forgotten: set[str] = set()
        self.abstains = False
        self.asked: list[str] = []
        """Entities whose neighbours, and memories whose state was asked for."""
        self.hidden_at_once: list[int] = []
        self.looked_up: list[int] = []
        """Memories in each call for states that names ids."""
        self.queries: list[str] = []
        self.listed: list[list[str]] = []
        """Texts of each list."""

    async def remember(
        self, *, event_id: str, text: str, title: str = "", tags: tuple[str, ...] = (), **_: Any
    ) -> Written:
        """Keep it."""
        identity = memory_id("acme", event_id, 0)
        names = [name for name in ("acme corp", "ada", "bakery", "my_project") if name in text.lower()]
        self.memories[identity] = recall_pb2.Memory(
            memory_id=identity, text=text, title=title, categories=tags, entities=names
        )
        return Written(event_id, identity, len(self.memories), duplicate=False)

    @property
    def shown(self) -> list[recall_pb2.Memory]:
        """What is not forgotten."""
        return [one for name, one in self.memories.items() if name not in self.forgotten]

    async def neighbours(self, *, entity: str, hops: int) -> recall_pb2.NeighboursResponse:
        """The memories that name it, whatever the case."""
        assert hops == 1
        self.asked.append(entity)
        found = [one for one in self.shown if entity.lower() in one.entities]
        if not found:
            raise NotFoundError(f"no entity {entity}")
        nodes = [recall_pb2.GraphNode(memory=one) for one in found]
        return recall_pb2.NeighboursResponse(nodes=[recall_pb2.GraphNode(entity=entity), *nodes])

    async def list(self, *, page_size: int, texts: Sequence[str] = (), page_token: str = "") -> MemoryPage:
        """The newest first; with texts those that say just one of them, in any case of letters."""
        assert page_size == limits.PAGE_SIZE
        wanted = {one.casefold() for one in checks.texts("texts", texts)}
        if texts and not page_token:
            self.listed.append(list(texts))
        found = [one for one in self.shown[::-1] if not texts or one.text.casefold() in wanted]
        start = int(page_token or 0)
        end = start + page_size
        token = str(end) if end < len(found) else ""
        return MemoryPage.of(
            recall_pb2.ListMemoriesResponse(memories=found[start:end], next_page_token=token)
        )

    async def recall(self, query: str, *, top_k: int, **_: Any) -> Recalled:
        """Those that share most words with the query."""
        assert 0 < len(query) <= limits.QUERY_CHARACTERS
        assert 0 < top_k <= limits.TOP_K
        self.queries.append(query)
        words = set(query.lower().split())
        shared = [(len(words & set(one.text.lower().split())), one) for one in self.shown]
        best = sorted(((count, one) for count, one in shared if count), key=lambda pair: -pair[0])
        memories = [recall_pb2.RecalledMemory(memory=one) for _, one in best[:top_k]]
        return Recalled.of(recall_pb2.RecallResponse(memories=memories, abstained=self.abstains))

    async def forget(self, *memories: str, **_: Any) -> Written:
        """Hide them."""
        self.hidden_at_once.append(len(memories))
        if not self.memories.keys() & set(memories):
            raise InvalidInputError("memory_ids", "names nothing")
        self.forgotten |= set(memories)
        return Written("f", "", 99, duplicate=False)

    async def state(self, memory: Written | str) -> recall_pb2.MemoryState | None:
        """Whether it is forgotten; None where it does not exist."""
        name = memory if isinstance(memory, str) else memory.memory_id
        self.asked.append(name)
        loss = recall_pb2.LOSS_FORGOTTEN if name in self.forgotten else recall_pb2.LOSS_NONE
        return recall_pb2.MemoryState(loss=loss) if name in self.memories else None

    async def states(self, memories: Iterable[Written | str]) -> MemoryStates:
        """As `state`, of several."""
        memories = list(memories)
        names = [one if isinstance(one, str) else one.memory_id for one in memories]
        if names == memories:
            self.looked_up.append(len(names))
        return MemoryStates({one: await self.state(one) for one in names}, len(self.memories))

    async def wait(self, _: Written) -> None:
        """Everything is processed."""


async def called(store: Store, name: str, **arguments: Any) -> Any:
    """The result of a tool."""
    caller = Caller(store, "acme", "ana")  # type: ignore[arg-type]  # a stub
    result = await TOOLS[name].run(caller, parsed(TOOLS[name].arguments, arguments))
    return result.model_dump()
