"""The settings of a running `helix up`, taken over by a command of another shell."""

import os

import pytest

from helix_cli.stack.settings_in_use import making_settings, settings_in_use
from helix_ingest.settings import IngestSettings
from helix_shared.errors import InvalidInputError

PIECE = "HELIX_INGEST_PIECE_TOKENS"


def test_what_makes_memories_is_recorded() -> None:
    """Not what a stack sets itself, and nothing of other services, which may be secret."""
    given = {
        PIECE: "90",
        "helix_consolidation_vector_storage": "float32",
        "HELIX_INGEST_NATS_URL": "nats://name:word@there",
        "HELIX_EXTRACT_API_KEY": "secret",
        "PATH": "/bin",
    }
    assert making_settings(given) == {PIECE: "90", "HELIX_CONSOLIDATION_VECTOR_STORAGE": "float32"}


def test_a_command_has_the_settings_of_what_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside alone; the same value here is no contradiction."""
    monkeypatch.delenv(PIECE, raising=False)
    usual = IngestSettings.load().piece_tokens
    with settings_in_use({PIECE: "90"}):
        assert IngestSettings.load().piece_tokens == 90
    assert (PIECE in os.environ, IngestSettings.load().piece_tokens) == (False, usual)
    monkeypatch.setenv(PIECE, "90")
    with settings_in_use({PIECE: "90"}):
        assert IngestSettings.load().piece_tokens == 90
    assert os.environ[PIECE] == "90"


@pytest.mark.parametrize(
    ("recorded", "reason"), [({PIECE: "120"}, "runs with '120'"), ({}, "runs without it")]
)
def test_another_value_here_is_refused(
    monkeypatch: pytest.MonkeyPatch, recorded: dict[str, str], reason: str
) -> None:
    """The error names the variable and both values."""
    monkeypatch.setenv(PIECE, "90")
    with pytest.raises(InvalidInputError, match=f"{PIECE}.*'90' here.*{reason}"), settings_in_use(recorded):
        pass
