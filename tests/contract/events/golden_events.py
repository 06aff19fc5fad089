"""The golden events, one of each kind, and the reason for which an event is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from helix_memory import events

GOLDEN = Path(__file__).parents[2] / "golden"
KINDS = sorted(events.EVENT_MODELS)


def golden_event(kind: str) -> dict[str, Any]:
    """The golden event of a kind."""
    event: dict[str, Any] = json.loads((GOLDEN / f"{kind}.json").read_text())
    return event


def refusal_of(event: dict[str, Any]) -> str:
    """The reason for which an event is refused."""
    with pytest.raises(ValidationError) as refused:
        events.parse_event(json.dumps(event).encode())
    return events.explain(refused.value)
