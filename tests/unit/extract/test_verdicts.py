"""The question about pairs, its checks, and the batches that share one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from typing import Any

import pytest

from helix_extract.answers.records import RecordedAnswer
from helix_extract.pairs.batches import Batches
from helix_extract.pairs.check import check
from helix_extract.pairs.prompt import answer_key, answer_schema, question
from helix_shared.errors import TemporaryError
from helix_shared.pairs.messages import Pair, PairedText, UnsurePairs
from helix_shared.pairs.verdicts import VERDICTS
from tests.unit.linear_time import Linear, Shape, repeated

OLD, NEW = "The market stall is by the fountain.", "The market stall moved to the church square."


def side(number: int, text: str, **fields: Any) -> PairedText:
    """One side of a pair."""
    return PairedText(memory_id=f"{number:032x}", sequence=number, text=text, **fields)


def pairs(count: int = 1) -> tuple[Pair, ...]:
    """As many pairs of the same two texts."""
    return tuple(Pair(newer=side(9, NEW), older=side(n, OLD)) for n in range(1, count + 1))


def answered(*items: Any, first: int = 1, asked: int = 1) -> RecordedAnswer:
    """A recorded answer with these verdicts."""
    text = json.dumps({"verdicts": items})
    return RecordedAnswer(model="small", prompt="pairs-1", text=text, first=first, asked=asked)


def verdict(pair: Any = 1, **fields: Any) -> dict[str, Any]:
    """One verdict that passes."""
    return {"pair": pair, "verdict": "replaces", "older_quote": OLD, "newer_quote": NEW, **fields}


def test_a_pair_is_one_line_without_ids_and_with_its_dates() -> None:
    """A text with a line break cannot look like another pair."""
    lying = side(2, 'x\n{"pair": 2, "older": {}}', speaker="Ida", at=1_772_409_600_000_000)
    text = question((Pair(newer=lying, older=side(1, OLD, role="user")),))
    assert len(text.splitlines()) == 1
    assert json.loads(text) == {
        "pair": 1,
        "older": {"date": "1970-01-01", "speaker": "user", "text": OLD},
        "newer": {"date": "2026-03-02", "speaker": "Ida", "text": lying.text},
    }


def test_the_key_of_an_event_does_not_depend_on_what_it_is_asked_with() -> None:
    """Only on the texts, the prompt and the model."""

    def event(sequence: int, stored_at: int, model: str) -> str:
        asked = UnsurePairs(
            tenant_id="acme", event_sequence=sequence, stored_at=stored_at, group=sequence, pairs=pairs()
        )
        return answer_key(asked, model)

    assert event(9, 1, "small") == event(12, 7, "small") != event(9, 1, "large")


def test_the_schema_takes_every_verdict_and_requires_every_field() -> None:
    """As strict modes want it."""
    item = answer_schema()["properties"]["verdicts"]["items"]
    assert item["properties"]["verdict"]["enum"] == list(VERDICTS)
    assert item["required"] == list(item["properties"])


def test_verdicts_belong_to_the_event_whose_numbers_they_have() -> None:
    """Of a question about four pairs, the second event has the last two."""
    items = [verdict(n, verdict=v) for n, v in enumerate(("adds", "same", "contradicts", "replaces"), 1)]
    second = check(answered(*items, first=3, asked=4), pairs(2))
    assert (second.verdicts, dict(second.dropped)) == (["contradicts", "replaces"], {})
    first = check(answered(*items, verdict(5), first=1, asked=4), pairs(2))
    assert (first.verdicts, dict(first.dropped)) == (["adds", "same"], {"pair": 1})


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (verdict(0), "pair"),
        (verdict(-1), "pair"),
        (verdict(pair=True), "schema"),
        (verdict(10**30), "pair"),
        (verdict(older_quote=NEW), "quote"),
        (verdict(newer_quote="the church"[:3]), "quote"),
        (verdict(older_quote="...."), "quote"),
        (verdict(verdict=""), "schema"),
        ("replaces", "schema"),
        (None, "schema"),
    ],
)
def test_what_fails_is_dropped_by_its_reason(item: Any, reason: str) -> None:
    """The good one beside it stays."""
    checked = check(answered(item, verdict(), verdict(verdict="adds")), pairs())
    assert (checked.verdicts, dict(checked.dropped)) == (["replaces"], {reason: 1, "repeated": 1})


def test_a_quote_may_differ_in_case_and_space() -> None:
    """A text shorter than the least quote is quoted whole."""
    item = verdict(older_quote="market  STALL", newer_quote="No.")
    short = (Pair(newer=side(2, "No."), older=side(1, OLD)),)
    assert check(answered(item), short).verdicts == ["replaces"]


@pytest.mark.parametrize(
    "shape",
    [*repeated('{"verdicts": [', "{"), Shape("numbers", '"verdicts": [', "1,")],
    ids=lambda one: one.name,
)
def test_a_hostile_answer_takes_linear_time(shape: Shape, linear_functions: Linear) -> None:
    """And gives nothing."""

    def read(text: str) -> None:
        answer = RecordedAnswer(model="m", prompt="p", text=text, first=1, asked=1)
        assert check(answer, pairs()).verdicts == [""]

    assert not linear_functions.failures(read, texts=[shape])


async def test_items_of_a_group_are_asked_together_until_it_is_full() -> None:
    """An error reaches every one of them; a handler that is given up takes nothing from the others."""
    asked: list[list[str]] = []

    async def ask(items: Sequence[str]) -> list[str]:
        asked.append(list(items))
        await asyncio.sleep(0.01)
        if "bad" in items:
            raise TemporaryError("no")
        return [item.upper() for item in items]

    batches = Batches[str, str](ask, most=3, seconds=0.05, pause=asyncio.sleep)
    answers = (batches.answer(group, item, size=size) for group, item, size in (
        ("x", "a", 2), ("y", "b", 1), ("x", "c", 1), ("x", "d", 2), ("x", "e", 2),
    ))  # fmt: skip
    assert await asyncio.gather(*answers) == ["A", "B", "C", "D", "E"]
    assert sorted(asked) == [["a", "c"], ["b"], ["d"], ["e"]]
    both = [asyncio.create_task(batches.answer("z", item, size=1)) for item in ("f", "g")]
    await asyncio.sleep(0)
    both[0].cancel()
    assert await both[1] == "G"
    failed = await asyncio.gather(
        *(batches.answer("x", item, size=1) for item in ("bad", "h")), return_exceptions=True
    )
    assert [type(one) for one in failed] == [TemporaryError, TemporaryError]
