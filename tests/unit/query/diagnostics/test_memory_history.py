"""How far the history of a memory leads."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from helix_query.diagnostics import memory_history
from helix_query.diagnostics.memory_history import HistoryRelation, history_of

ASKED = 5
NOW = datetime(2026, 11, 1, tzinfo=UTC)


def link(
    newer: int, older: int, probability: float, *, relation: str = "UPDATES", **more: bool
) -> HistoryRelation:
    """A decided relation between two ordinals."""
    return HistoryRelation(
        newer, older, relation, probability, {}, more.get("closed", False), counts=more.get("counts", True)
    )


def walked(monkeypatch: pytest.MonkeyPatch, *relations: HistoryRelation) -> set[int]:
    """The memories of the history of `ASKED` where these are all relations."""

    class Walk:
        is_full = False

        def __init__(self, *_: object) -> None:
            self.rows: dict[int, object] = {}
            self.relations: dict[tuple[int, int, str], HistoryRelation] = {}

        def visit(self, ordinals: Sequence[int]) -> Sequence[int]:
            self.rows |= dict.fromkeys(ordinals)
            return ordinals

        def relations_of(self, ordinals: Sequence[int], kinds: Collection[str]) -> list[HistoryRelation]:
            near = [one for one in relations if one.newer in ordinals or one.older in ordinals]
            return [one for one in near if one.relation in kinds]

        def history(self) -> set[int]:
            return set(self.rows)

    monkeypatch.setattr(memory_history, "_HistoryWalk", Walk)
    snapshot: Any = SimpleNamespace(ordinals_of=lambda _: [ASKED])
    selection: Any = None
    found: Any = history_of("", selection, snapshot, now=NOW)
    return set(found)


def test_unlikely_relations_are_followed_only_from_the_memory_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Else small chances chain all that one person said."""
    found = walked(monkeypatch, link(ASKED, 4, 0.1), link(4, 3, 0.2), link(3, 2, 0.9))
    assert found == {ASKED, 4}


def test_likely_closed_and_undone_relations_are_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    """What merely extends a later memory of the chain does not."""
    found = walked(
        monkeypatch,
        link(ASKED, 4, 0.7),
        link(4, 3, 0.6),
        link(3, 2, 0.4, closed=True),
        link(2, 1, 0.4, counts=False),
        link(4, 0, 0.9, relation="EXTENDS"),
    )
    assert found == {ASKED, 4, 3, 2, 1}
