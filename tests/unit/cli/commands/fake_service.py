"""A query service with replies set by a test."""

from datetime import UTC, datetime

import grpc

from helix_memory.recall.v1 import recall_pb2, recall_pb2_grpc


class FakeService(recall_pb2_grpc.RecallServiceServicer):
    """Records the last request of each kind and returns `reply`, `why_not_reply`, or the error `refuse`."""

    def __init__(self) -> None:
        self.address = ""
        self.request = recall_pb2.RecallRequest()
        self.batch_request = recall_pb2.BatchRecallRequest()
        self.reply = recall_pb2.RecallResponse()
        self.why_not_request = recall_pb2.WhyNotRequest()
        self.why_not_reply = recall_pb2.WhyNotResponse()
        self.profile_request = recall_pb2.GetProfileRequest()
        self.profile_reply = recall_pb2.GetProfileResponse()
        self.history_reply = recall_pb2.GetHistoryResponse()
        self.memory_reply = recall_pb2.Memory()
        self.ids: list[str] = []
        self.states: list[recall_pb2.MemoryState] = []
        self.find_requests: list[recall_pb2.FindIdsRequest] = []
        self.is_earlier = False
        self.history_request = recall_pb2.GetHistoryRequest()
        self.results: list[recall_pb2.RecallResult] = []
        self.refuse: tuple[grpc.StatusCode, str] | None = None
        self.applied = 0

    def Recall(  # noqa: N802  gRPC's name
        self, request: recall_pb2.RecallRequest, context: grpc.ServicerContext
    ) -> recall_pb2.RecallResponse:
        """Record the request and reply or refuse."""
        self.request = request
        if self.refuse:
            context.abort(*self.refuse)
        return self.reply

    def BatchRecall(  # noqa: N802  gRPC's name
        self, request: recall_pb2.BatchRecallRequest, context: grpc.ServicerContext
    ) -> recall_pb2.BatchRecallResponse:
        """The same reply to every question, or `results`."""
        del context
        self.batch_request = request
        results = [recall_pb2.RecallResult(response=self.reply) for _ in request.requests]
        return recall_pb2.BatchRecallResponse(results=self.results or results)

    def WhyNot(  # noqa: N802  gRPC's name
        self, request: recall_pb2.WhyNotRequest, context: grpc.ServicerContext
    ) -> recall_pb2.WhyNotResponse:
        """Record the request and reply or refuse."""
        self.why_not_request = request
        if self.refuse:
            context.abort(*self.refuse)
        return self.why_not_reply

    def GetProfile(  # noqa: N802  gRPC's name
        self, request: recall_pb2.GetProfileRequest, context: grpc.ServicerContext
    ) -> recall_pb2.GetProfileResponse:
        """Record the request and reply or refuse."""
        self.profile_request = request
        if self.refuse:
            context.abort(*self.refuse)
        return self.profile_reply

    def GetHistory(  # noqa: N802  gRPC's name
        self, request: recall_pb2.GetHistoryRequest, context: grpc.ServicerContext
    ) -> recall_pb2.GetHistoryResponse:
        """Record the request and reply or refuse."""
        self.history_request = request
        if self.refuse:
            context.abort(*self.refuse)
        return self.history_reply

    def GetMemory(  # noqa: N802  gRPC's name
        self, request: recall_pb2.GetMemoryRequest, context: grpc.ServicerContext
    ) -> recall_pb2.GetMemoryResponse:
        """The memory of the test, unless it refuses."""
        del request
        if self.refuse:
            context.abort(*self.refuse)
        return recall_pb2.GetMemoryResponse(memory=self.memory_reply)

    def Timeline(  # noqa: N802  gRPC's name
        self, request: recall_pb2.TimelineRequest, context: grpc.ServicerContext
    ) -> recall_pb2.TimelineResponse:
        """No memory."""
        del request, context
        return recall_pb2.TimelineResponse()

    def FindIds(  # noqa: N802  gRPC's name
        self, request: recall_pb2.FindIdsRequest, context: grpc.ServicerContext
    ) -> recall_pb2.FindIdsResponse:
        """The ids that begin so, all with the same states; an earlier version knows only the first prefix."""
        del context
        self.find_requests.append(request)
        more = () if self.is_earlier else request.more_prefixes
        found = self._beginning(request.prefix)
        return recall_pb2.FindIdsResponse(
            memory_ids=found.memory_ids,
            states=found.states,
            more=map(self._beginning, more),
            applied_sequence=0 if self.is_earlier else 7,
        )

    def _beginning(self, prefix: str) -> recall_pb2.FoundIds:
        found = [one for one in self.ids if one.startswith(prefix.lower())]
        return recall_pb2.FoundIds(memory_ids=found, states=self.states if found else ())

    def GetStatus(  # noqa: N802  gRPC's name
        self, request: recall_pb2.GetStatusRequest, context: grpc.ServicerContext
    ) -> recall_pb2.GetStatusResponse:
        """Apply one more event with every call."""
        del request, context
        self.applied += 1
        return recall_pb2.GetStatusResponse(generation=1, applied_sequence=self.applied)


def a_reply() -> recall_pb2.RecallResponse:
    """A reply with one memory and every other field that the command prints."""
    reply = recall_pb2.RecallResponse(generation=7, applied_sequence=42, ranking_profile="helix")
    found = reply.memories.add(rank=1, score=0.875)
    found.memory.text = "We chose [red]Postgres[/red]\x1b[2J."
    found.memory.type = "decision"
    found.memory.occurred_at.FromDatetime(datetime(2026, 11, 3, tzinfo=UTC))
    reply.context.text = "[1] We chose Postgres."
    reply.route.intents.extend(["which", "what"])
    reply.stages.add(stage="embed", milliseconds=4.25)
    reply.total_milliseconds = 9.5
    return reply
