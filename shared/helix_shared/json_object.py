"""Reads the JSON object in a text that anybody may have written, or that may be damaged."""

from __future__ import annotations

import json
from typing import Any


def json_object(text: bytes | str | None) -> dict[str, Any]:
    """The JSON object that a text is; empty where it is none."""
    try:
        found = json.loads(text or b"")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
