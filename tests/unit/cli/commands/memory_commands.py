"""The commands of `helix memory` on a few memories."""

from typing import Any

from click.testing import Result
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_memory.recall.v1 import recall_pb2

ASKED, REPLACED, WEAK, FAR = "a" * 32, "b" * 32, "c" * 32, "d" * 32
VERSION = recall_pb2.Memory(memory_id=REPLACED, text="Tea on Tuesday.", pinned=True)
CORRECTED = recall_pb2.GetHistoryResponse(
    memories=[recall_pb2.Memory(memory_id=ASKED, text="Tea on Monday."), VERSION],
    relations=[
        recall_pb2.HistoryRelation(newer_id=REPLACED, older_id=ASKED, relation="CORRECTS", counts=True)
    ],
)
"""The second version of a memory, and both."""


def invoked(command: str, given: str, *options: str) -> Result:
    """The result of a command; a correction has a text, too."""
    text = ["A text."] if command == "correct" else []
    nats = [] if command == "history" else ["--nats", "nats://127.0.0.1:1"]
    return CliRunner().invoke(app, ["memory", command, given, *text, "--tenant", "acme", *nats, *options])


def a_state(loss: str, **fields: Any) -> recall_pb2.MemoryState:
    """A state by the name of what hides the memory."""
    return recall_pb2.MemoryState(loss=recall_pb2.Loss.Value(f"LOSS_{loss}"), **fields)
