"""What replaced a memory is quoted only where the caller's whole selection admits it."""

from types import SimpleNamespace
from typing import Any

import pytest

from helix_query.recall.packing import fetch
from helix_query.recall.packing.entries import REPLACED_BY


@pytest.mark.parametrize(
    ("admitted", "flags", "is_noted"), [(True, [], True), (False, [], False), (True, ["spam"], False)]
)
def test_an_excluded_or_flagged_replacement_is_not_quoted(
    monkeypatch: pytest.MonkeyPatch, *, admitted: bool, flags: list[str], is_noted: bool
) -> None:
    """Filters of the request count, and a quote cannot show flags."""
    later = {"memory_id": "b", "flags": flags, "text": "later"}
    monkeypatch.setattr(fetch, "stored_rows", lambda *_: [later])
    context: Any = SimpleNamespace(
        visibility=SimpleNamespace(selection=SimpleNamespace(with_replaced=True)),
        snapshot=SimpleNamespace(ordinals_of=lambda ids: ids),
        query=SimpleNamespace(selection=SimpleNamespace(admits=lambda _: admitted)),
    )
    row: dict[str, Any] = {"hidden": True, "superseded_by": "b"}
    fetch._note_replacements(context, [row])
    assert (REPLACED_BY in row) is is_noted
