"""What the log of a service has of a call that failed."""

from types import SimpleNamespace

import grpc
import pytest

from helix_shared.errors import (
    CorruptArtifactError,
    InvalidInputError,
    NotFoundError,
    OverdueError,
    PermanentError,
    TemporaryError,
)
from helix_shared.rpc import statuses


@pytest.mark.parametrize(
    ("error", "code", "logged"),
    [
        (CorruptArtifactError("lexicon cannot be read: /data/1"), grpc.StatusCode.DATA_LOSS, "/data/1"),
        (PermanentError("the user said zanzipurple"), grpc.StatusCode.INTERNAL, "PermanentError"),
        (ValueError("the user said zanzipurple"), grpc.StatusCode.INTERNAL, "ValueError"),
        (BaseException("panicked at zanzipurple"), grpc.StatusCode.INTERNAL, "BaseException"),
        (InvalidInputError("top_k", "must be 1 to 200"), grpc.StatusCode.INVALID_ARGUMENT, ""),
        (NotFoundError("no memory"), grpc.StatusCode.NOT_FOUND, ""),
        (OverdueError("too late"), grpc.StatusCode.DEADLINE_EXCEEDED, ""),
        (TimeoutError(), grpc.StatusCode.DEADLINE_EXCEEDED, ""),
        (TemporaryError("no generation yet"), grpc.StatusCode.UNAVAILABLE, ""),
    ],
)
def test_what_a_caller_is_not_told_the_log_has(
    monkeypatch: pytest.MonkeyPatch, error: BaseException, code: grpc.StatusCode, logged: str
) -> None:
    """The message of DATA_LOSS says so; an error may quote a text, which the log has not."""
    lines: list[str] = []
    log = SimpleNamespace(error=lambda event, **fields: lines.append(f"{event} {fields}"))
    monkeypatch.setattr(statuses, "_log", log)
    found, message = statuses.refused_of(error)
    said = "".join(lines)
    assert found is code
    assert said.count("call_failed") == bool(logged)
    assert logged in said
    assert "zanzipurple" not in f"{message}{said}"
    assert "/data" not in message
