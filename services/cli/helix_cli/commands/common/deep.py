"""`helix recall --deep`: asks the deep service, tells the progress, and says what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from helix_cli.output.terminal import note, plain, print_message, printable, stdout
from helix_memory.deep.v1 import deep_pb2
from helix_shared.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from helix_cli.home.addresses import Server
    from helix_memory.recall.v1 import recall_pb2

_TOLD = {
    deep_pb2.STAGE_STATE_DONE: "done",
    deep_pb2.STAGE_STATE_SKIPPED: "skipped",
    deep_pb2.STAGE_STATE_LEFT_OUT: "left out",
}


def ask_deep(
    server: Server, requests: list[recall_pb2.RecallRequest], *, seconds: float | None
) -> deep_pb2.DeepRecallResult:
    """The result for the one question; writes a line to standard error as each stage ends.

    Raises:
        InvalidInputError: there are several questions, or the service refuses one.
        TemporaryError, PermanentError: as the service says.
    """
    from helix_cli.clients.deep_client import deep_recall  # noqa: PLC0415  gRPC is slow to import

    if len(requests) > 1:
        raise InvalidInputError("--deep", "takes one question")
    request = deep_pb2.DeepRecallRequest(recall=requests[0], seconds=seconds)
    return deep_recall(server.address, request, _note, credentials=server.calls)


def print_deep(
    result: deep_pb2.DeepRecallResult,
    print_reply: Callable[[recall_pb2.RecallResponse], None] | None,
    *,
    with_summary: bool,
) -> None:
    """Print the result like a plain recall, and with a summary; without `print_reply` all of it as JSON."""
    if print_reply is None:
        print_message(result)
        return
    print_reply(result.recall)
    for line in _summary(result) if with_summary else ():
        stdout().print(plain(line))


def _summary(result: deep_pb2.DeepRecallResult) -> list[str]:
    """What the language model did, for people."""
    tokens = result.prompt_tokens + result.completion_tokens
    seconds = result.total_milliseconds / 1_000
    model = result.model or "no language model"
    lines = [f"deep        {model}, {seconds:.1f} s, {tokens} tokens"]
    if not result.is_deep:
        lines.append("deep        this is the plain recall")
    reasons: dict[str, list[str]] = {}
    for one in result.stages:
        if one.state == deep_pb2.STAGE_STATE_LEFT_OUT:
            reasons.setdefault(one.reason, []).append(one.stage)
    lines += [f"left out    {', '.join(stages)}: {reason}" for reason, stages in reasons.items()]
    return [printable(line) for line in lines]


def _note(progress: deep_pb2.StageProgress) -> None:
    if (state := _TOLD.get(progress.state)) is None:
        return
    parts = [f"{progress.stage} {state}"]
    if progress.milliseconds:
        parts.append(f"{progress.milliseconds / 1_000:.1f} s")
    parts += [f"{progress.tokens} tokens"] * bool(progress.tokens)
    parts += [f"{progress.lists} lists"] * bool(progress.lists)
    if told := progress.reason or "; ".join(" ".join(text.split()) for text in progress.asked):
        parts.append(told)
    note(printable(", ".join(parts)))
