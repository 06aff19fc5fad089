"""Memories that are not valid yet, or any more, take no places of others."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
MENUS = 450
"""More than four times the candidates of a channel."""


def test_what_holds_is_found_behind_many_that_do_not(
    told: Callable[..., AbstractContextManager[Any]], tmp_path: Path
) -> None:
    """Every past menu has the words of the question as well; each was valid for one day."""
    menus = [
        {"text": "zorbik soup", "name": f"menu {n}", "valid_to": NOW - timedelta(days=n)}
        for n in range(MENUS)
    ]
    holding = {"text": "On most days the canteen down by the old harbour serves a bowl of zorbik."}
    with told(tmp_path, [*menus, holding]) as stub:
        asked = recall_pb2.RecallRequest(scope={"tenant_id": "acme"}, query="zorbik soup", never_skip=True)
        [found] = stub.Recall(asked, timeout=10).memories
    assert found.memory.text == holding["text"]
    assert "lexical" in found.channels
