"""Random sequences of calls: every RPC, with ids, names and page tokens of callers that it must not see."""

import random
from collections.abc import Callable
from typing import Any, Final

import grpc
from google.protobuf import json_format

from helix_memory.recall.v1 import recall_pb2
from helix_shared.rpc.access.credential import OUT_OF_SCOPE
from tests.integration.test_query.isolation.world import TOPICS, Caller, World, chosen, found_in

CALL_SECONDS: Final = 60.0
FOREIGN: Final = 0.5
"""Share of names, ids and page tokens that are any caller's."""
NOBODY: Final = "f" * 32
WITHOUT_SCOPE: Final = ("GetStatus",)
Make = Callable[["Calls", dict[str, Any]], Any]


class Calls:
    """The calls of one seed; counts what a reply had that its caller must not see."""

    def __init__(self, world: World, stub: Any, *, seed: int, with_tokens: bool) -> None:
        self._world = world
        self._stub = stub
        self._random = random.Random(seed)
        self._with_tokens = with_tokens
        self._callers = [one for one in world.callers if not with_tokens or one.user != "*"]
        self._page_tokens = [""]
        self.calls = 0
        self.replies = 0
        self.denied = 0
        self.seen = 0
        """Marks and ids in replies that their callers may see: without them the test would prove nothing."""
        self.foreign: list[str] = []

    def sequence(self, length: int) -> None:
        """One caller's calls; what it gets goes on into later sequences of other callers."""
        caller = self._random.choice(self._callers)
        for _ in range(length):
            self._call(caller, self._random.choice(list(OPERATIONS)))

    def _call(self, caller: Caller, rpc: str) -> None:
        claimed = self._claimed(caller)
        request = OPERATIONS[rpc](self, claimed.scope)
        reply, error = self._asked(rpc, request, caller)
        if rpc not in WITHOUT_SCOPE and not _is_within(claimed, caller):
            refused = error == (grpc.StatusCode.PERMISSION_DENIED, OUT_OF_SCOPE)
            self._require(refused, f"{rpc} of {caller} as {claimed}: {error}")
            self.denied += 1
        self._check(rpc, caller, request, reply, error)
        if hasattr(request, "memory_id") and getattr(request, "memory_id", ""):
            self._check_twin(rpc, caller, request, error)

    def _check(self, rpc: str, caller: Caller, request: Any, reply: Any, error: Any) -> None:
        """Nothing in the reply or the error is of a memory that the caller may not see."""
        found = found_in(json_format.MessageToJson(reply)) if error is None else found_in(error[1])
        # what the caller itself sent may come back; a memory that is shown has its mark and its id, and a
        # request has at most one of the two
        found -= found_in(json_format.MessageToJson(request))
        self.replies += error is None
        seen = self._world.seen_by[caller]
        self.seen += len(found & seen)
        self.foreign += [f"{rpc} shows {one} to {caller}" for one in found - seen]

    def _check_twin(self, rpc: str, caller: Caller, request: Any, error: Any) -> None:
        """A memory that the caller may not see reads like one that does not exist."""
        if request.memory_id in self._world.seen_by[caller]:
            return
        twin = type(request)()
        twin.CopyFrom(request)
        twin.memory_id = NOBODY
        _, other = self._asked(rpc, twin, caller)
        told = None if error is None else (error[0], error[1].replace(request.memory_id, NOBODY))
        self._require(told == other, f"{rpc} tells that {request.memory_id} exists: {told} and {other}")

    def _asked(self, rpc: str, request: Any, caller: Caller) -> tuple[Any, Any]:
        self.calls += 1
        metadata = (("authorization", f"Bearer {caller.token}"),) if self._with_tokens else ()
        try:
            reply = getattr(self._stub, rpc)(request, timeout=CALL_SECONDS, metadata=metadata)
        except grpc.RpcError as error:
            return None, (error.code(), str(error.details()))
        if page := getattr(reply, "next_page_token", ""):
            self._page_tokens = [*self._page_tokens[-50:], page]
        return reply, None

    def _require(self, holds: bool, message: str) -> None:
        if not holds:
            self.foreign.append(message)

    def _claimed(self, caller: Caller) -> Caller:
        """With tokens the scope that a request claims, often another; without, the caller's word counts."""
        if not self._with_tokens or self._random.random() < FOREIGN:
            return caller
        return self._random.choice(self._callers)

    def memory_id(self) -> str:
        """Any memory's."""
        return self._world.ids[chosen(self._world, self._random)]

    def text(self) -> str:
        """A question, often with the mark of any memory."""
        topic = self._random.choice(TOPICS)
        mark = self._world.marks[chosen(self._world, self._random)]
        asked = (
            f"Where is the note about the {topic}?",
            f"drawer {mark}",
            f'"{mark}" Maria Nowak',
            "Maria Nowak",
        )
        return self._random.choice(asked)

    def whole_texts(self) -> list[str]:
        """The texts of any memories; often none, which is no condition."""
        count = self._random.choice((0, 0, 1, 5))
        return [str(self._world.rows[chosen(self._world, self._random)]["text"]) for _ in range(count)]

    def entity(self) -> str:
        """A name that all have, or that of any memory."""
        mark = self._world.marks[chosen(self._world, self._random)]
        return self._random.choice(("Maria Nowak", f"Drawer {mark}"))

    def session(self) -> str:
        """A session that every tenant has, or that of any memory."""
        mark = self._world.marks[chosen(self._world, self._random)]
        return self._random.choice(("s1", f"s-{mark}"))

    def page(self) -> dict[str, Any]:
        """A page, often from a token of another caller."""
        return {
            "page_size": self._random.choice((1, 3, 200)),
            "page_token": self._random.choice(self._page_tokens),
        }

    def recall(self, scope: dict[str, Any]) -> Any:
        """A recall of any kind."""
        return recall_pb2.RecallRequest(
            scope=scope,
            query=self.text(),
            explain=self._random.random() < FOREIGN,
            never_skip=True,
            top_k=self._random.choice((5, 200)),
            include_profile=self._random.random() < FOREIGN,
            expand_context=self._random.choice((0, 1, 2, 3)),
            already_served=[self.memory_id()],
            ranking_profile=self._random.choice(("", "cems", "engram")),
        )

    def recall_without_explanation(self, scope: dict[str, Any]) -> Any:
        """For RPCs that take a recall."""
        request = self.recall(scope)
        request.explain = False
        return request

    def batch(self, scope: dict[str, Any]) -> Any:
        """Two recalls; one may smuggle a scope of its own, which is refused."""
        requests = [self.recall({}), self.recall({})]
        for one in requests:
            one.ClearField("scope")
        if self._random.random() < FOREIGN:
            requests[1].scope.CopyFrom(recall_pb2.Scope(**self._random.choice(self._callers).scope))
        return recall_pb2.BatchRecallRequest(scope=scope, requests=requests)


def _is_within(claimed: Caller, caller: Caller) -> bool:
    """Whether a credential allows a scope; what it leaves out is the credential's."""
    same = claimed.tenant == caller.tenant and claimed.user in ("", caller.user)
    return same and (caller.is_board or not claimed.is_board)


OPERATIONS: Final[dict[str, Make]] = {
    "Recall": lambda calls, scope: calls.recall(scope),
    "BatchRecall": lambda calls, scope: calls.batch(scope),
    "GetMemory": lambda calls, scope: recall_pb2.GetMemoryRequest(scope=scope, memory_id=calls.memory_id()),
    "GetHistory": lambda calls, scope: recall_pb2.GetHistoryRequest(scope=scope, memory_id=calls.memory_id()),
    "GetErasure": lambda calls, scope: recall_pb2.GetErasureRequest(scope=scope, event_id=calls.memory_id()),
    "FindIds": lambda calls, scope: recall_pb2.FindIdsRequest(
        scope=scope,
        prefix=calls.memory_id()[:4],
        more_prefixes=[calls.memory_id()[:digits] for digits in (4, 6, 32, 32)],
    ),
    "GetStatus": lambda _, __: recall_pb2.GetStatusRequest(),
    "WhyNot": lambda calls, scope: recall_pb2.WhyNotRequest(
        recall=calls.recall_without_explanation(scope), memory_id=calls.memory_id()
    ),
    "GetProfile": lambda _, scope: recall_pb2.GetProfileRequest(scope=scope, token_budget=2_000),
    "Pack": lambda calls, scope: recall_pb2.PackRequest(
        recall=calls.recall_without_explanation(scope), memory_ids={calls.memory_id() for _ in range(8)}
    ),
    "ListMemories": lambda calls, scope: recall_pb2.ListMemoriesRequest(
        scope=scope, texts=calls.whole_texts(), **calls.page()
    ),
    "Timeline": lambda calls, scope: recall_pb2.TimelineRequest(
        scope=scope, session_id=calls.session(), **calls.page()
    ),
    "ListSessions": lambda calls, scope: recall_pb2.ListSessionsRequest(scope=scope, **calls.page()),
    "ListEntities": lambda calls, scope: recall_pb2.ListEntitiesRequest(scope=scope, **calls.page()),
    "Neighbours": lambda calls, scope: recall_pb2.NeighboursRequest(
        scope=scope, entity=calls.entity(), hops=2
    ),
}
