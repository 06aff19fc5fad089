import json

import pytest
from google.protobuf.message import Message  # type: ignore[import-untyped] # stubs are a namespace package

from helix_cli.output.terminal import print_message, printable
from helix_memory.recall.v1 import recall_pb2

REPLIES = (
    recall_pb2.RecallResponse,
    recall_pb2.ListMemoriesResponse,
    recall_pb2.ListSessionsResponse,
    recall_pb2.TimelineResponse,
    recall_pb2.GetHistoryResponse,
    recall_pb2.GetProfileResponse,
    recall_pb2.WhyNotResponse,
    recall_pb2.Memory,
)


@pytest.mark.parametrize("kind", REPLIES, ids=lambda kind: kind.DESCRIPTOR.name)
def test_an_empty_reply_has_its_lists_texts_and_numbers(
    kind: type[Message], capsys: pytest.CaptureFixture[str]
) -> None:
    """A program reads `.memories` whether there are any: protobuf's own default prints `{}`."""
    print_message(kind())
    printed = json.loads(capsys.readouterr().out)
    fields = [one for one in kind.DESCRIPTOR.fields if not one.has_presence]
    assert set(printed) == {one.name for one in fields}
    assert [printed[one.name] for one in fields if one.is_repeated] == [
        [] for one in fields if one.is_repeated
    ]


def test_a_message_without_a_value_is_absent(capsys: pytest.CaptureFixture[str]) -> None:
    """Its absence says that there is none; a message of defaults would say something else."""
    print_message(recall_pb2.Memory(text="said"))
    printed = json.loads(capsys.readouterr().out)
    assert printed["text"] == "said"
    assert "valid_to" not in printed


def test_no_mark_of_a_writing_direction_is_printed() -> None:
    """Text from outside must not turn round what stands beside it: all of Unicode's Bidi_Control."""
    marks = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
    assert printable(f"a{marks}b") == "a" + "\ufffd" * len(marks) + "b"
