"""What passes the checks of an answer, and what is dropped with which reason."""

from __future__ import annotations

import json
import time
from collections import Counter
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from helix_extract.answers.check import CheckedAnswer, check
from helix_extract.answers.prompt import LISTS
from helix_extract.windows.window import Window
from helix_shared.endpoint.json_text import object_in
from helix_shared.endpoint.passages import names

from .windows import turn, window

TURNS = ("I fired the kiln for Odile on  Monday, 1240 degrees.", "Good.", "Odile moved to Ghent.")


def memory(**fields: Any) -> dict[str, Any]:
    """A memory that the turns support; `fields` override."""
    sound = {
        "text": "Mara fired the kiln for Odile at 1240 degrees on 2 March 2026.",
        "kind": "event",
        "turns": [1],
        "quote": "I fired the kiln for Odile on Monday",
        "valid_from": "2026-03-02",
        "valid_to": None,
        "entities": [0],
        "questions": ["who used the oven"],
        "confidence": 0.9,
    }
    return sound | fields


MOVED = memory(text="Odile lives in Ghent now.", turns=[3], quote="Odile moved to Ghent", entities=[])


def checked_in(text: str, said: dict[str, Any]) -> CheckedAnswer:
    """The answer with one memory, checked against one turn."""
    return check({"memories": [said], "links": [], "entities": []}, window(text))


def checked(*memories: Any, links: Any = (), entities: Any = None) -> CheckedAnswer:
    """The answer with these memories, checked against `TURNS`."""
    names = [{"name": "Odile", "type": "person"}, {"name": "Ghent", "type": "place"}, {"name": "Zurich"}]
    answer = {
        "memories": list(memories),
        "links": list(links),
        "entities": names if entities is None else entities,
    }
    return check(answer, window(*TURNS))


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("The kiln goes to Ghent in autumn.", "2026-10-01"),
        ("We have had the kiln since 2019.", "2019-01-01"),
        ("The lease ends at the end of next year.", "2027-12-31"),
        ("Der Ofen kommt am 17. August.", "2026-08-17"),
        ("The kiln was broken last May.", "2025-05-01"),
        ("The kiln comes in four months.", "2026-07-02"),
    ],
)
def test_a_date_that_a_turn_tells_passes(text: str, day: str) -> None:
    """In words, by a number, or by the year alone."""
    said = memory(text="Mara told of the kiln.", quote=text, valid_from=day, entities=[])
    assert checked_in(text, said).memories


@pytest.mark.parametrize(
    ("said", "text", "passes"),
    [
        ("The rent is 1200 a month.", "Mara pays $1,200 a month.", True),
        ("The rent is $1,200 a month.", "Mara pays 1200 dollars a month.", True),
        ("The rent is $1,200 a month.", "Mara pays $1,300 a month.", False),
        ("The rooms are 1 and 200.", "Mara pays $1,200 a month.", False),
        ("The kiln comes on Friday next week.", "The kiln comes on 2026-03-13.", True),
        ("The kiln broke three weeks ago.", "The kiln broke on 9 February 2026.", True),
        ("The kiln broke three weeks ago.", "The kiln broke on 12 February 2026.", False),
    ],
)
def test_a_number_may_be_written_in_another_way(said: str, text: str, *, passes: bool) -> None:
    """With separators or without, and as the day that words for a time name."""
    found = checked_in(said, memory(text=text, quote=said, valid_from=None, entities=[]))
    assert bool(found.memories) is passes


def test_a_day_is_that_of_the_zone_of_its_turn() -> None:
    """In Auckland it is the third of March while it is the second in UTC."""
    zone = timezone(timedelta(hours=13))
    late = Window((turn(1, "I broke it yesterday.", occurred_at=datetime(2026, 3, 3, 8, tzinfo=zone)),))
    for day, passes in ((2, True), (1, False)):
        said = memory(text=f"Mara broke it on {day} March.", quote="I broke it", valid_from=None, entities=[])
        assert bool(check({"memories": [said]}, late).memories) is passes


@pytest.mark.parametrize("day", ["0001-01-01", "9999-12-30"])
def test_a_turn_with_a_day_at_the_end_of_the_calendar_tells_no_date(day: str) -> None:
    """Such days stand for "no time" in logs; a turn with one loses neither its window nor its other dates."""
    text = f"Mara set the default of the field to {day}."
    far = memory(text="Mara set the default.", quote=text, valid_from="2031-05-17", entities=[])
    assert checked_in(text, far).dropped == Counter({"date": 1})
    near = far | {"valid_from": None}
    assert len(checked_in(text, near).memories) == 1


def test_a_supported_memory_passes() -> None:
    """The quote is found apart from white space; the source is the turn that holds it."""
    found = checked(memory(turns=[2, 1]))
    (kept,) = found.memories
    assert (kept.source.sequence, kept.entities, kept.questions) == (
        1,
        (("Odile", "person"),),
        ("who used the oven",),
    )
    assert kept.valid_from is not None
    assert not found.dropped


@pytest.mark.parametrize(
    ("reason", "fields"),
    [
        ("turn", {"turns": [4]}),
        ("turn", {"turns": [0]}),
        ("turn", {"turns": [-1]}),
        ("turn", {"turns": []}),
        ("turn", {"turns": ["e1"]}),
        ("turn", {"turns": [1.5]}),
        ("turn", {"turns": [True]}),
        ("quote", {"quote": "I never fired the kiln"}),
        ("quote", {"quote": "Odile moved to Ghent"}),
        ("quote", {"quote": ""}),
        ("quote", {"quote": "., "}),
        ("quote", {"quote": "for"}),
        ("number", {"text": "Mara fired the kiln at 1300 degrees."}),
        ("date", {"valid_from": "next Monday"}),
        ("date", {"valid_from": "2026-03-05", "valid_to": "2026-03-01"}),
        ("date", {"valid_from": "0001-01-01"}),
        ("date", {"valid_from": "2031-05-17"}),
        ("date", {"valid_from": None, "valid_to": "2020-01-01"}),
        ("long", {"text": "kiln " * 150}),
        ("schema", {"text": ""}),
        ("schema", {"text": None}),
        ("schema", {"kind": "secret"}),
        ("schema", {"confidence": 7}),
        ("schema", {"confidence": float("nan")}),
        ("repeated", {"text": TURNS[0]}),
    ],
)
def test_an_unsupported_memory_is_dropped_with_its_reason(reason: str, fields: dict[str, Any]) -> None:
    """A good one beside it stays."""
    found = checked(memory(**fields), memory())
    assert found.dropped == Counter({reason: 1})
    assert len(found.memories) == 1


def test_a_field_may_be_null_and_a_kind_begin_with_a_capital() -> None:
    """Small models write so where the server enforces no schema."""
    empty = dict.fromkeys(("valid_from", "valid_to", "entities", "questions", "confidence"))
    (kept,) = checked(memory(kind="Event", **empty)).memories
    assert (kept.kind, kept.entities, kept.questions, kept.confidence) == ("event", (), (), 0.7)


def test_names_and_links_count_only_where_a_turn_holds_them() -> None:
    """Zurich is in no turn, position 9 does not exist, and Ghent is not in the first turn."""
    links = [
        {"from": 0, "to": 1, "relation": "moved to", "turn": 3},
        {"from": 0, "to": 1, "relation": "moved to", "turn": 1},
        {"from": 0, "to": 9, "relation": "moved to", "turn": 3},
        {"from": 0, "to": 1, "relation": "moved to", "turn": 12},
        "Odile moved",
    ]
    found = checked(memory(entities=[0, 2, 9, True, "Odile"]), MOVED, links=links)
    assert found.memories[0].entities == (("Odile", "person"),)
    assert [(link.source[0], link.target[0], link.turn.sequence) for link in found.links] == [
        ("Odile", "Ghent", 3)
    ]
    assert found.dropped == Counter({"entity": 4, "link": 4})


@pytest.mark.parametrize(
    ("text", "name", "is_named"),
    [
        ("I am planning it.", "Ann", False),
        ("Maria met the Ann of the plan.", "Ann", True),
        ("Take the v12.", "v1", False),
        ("O\u2019Brien\u2019s kiln", "O'Brien", True),
        ("Jean-Luc came.", "Jean-Luc", True),
        ("\u041c\u0430\u0440\u0438\u043d\u0430", "\u041c\u0430\u0440\u0438", False),
        ("\u6771\u4eac\u306b\u884c\u304f", "\u6771\u4eac", True),
        ("J. R. R. Tolkien wrote it.", "J. R. R. Tolkien", True),
    ],
)
def test_a_name_is_not_found_inside_a_longer_word(text: str, name: str, *, is_named: bool) -> None:
    """Names end where words do, in scripts that have capitals."""
    assert names(text, name) is is_named


@pytest.mark.parametrize(
    ("relation", "predicate"),
    [
        ("MOVED_TO", "MOVED_TO"),
        (" moved to ", "MOVED_TO"),
        ("Works-at", "WORKS_FOR"),
        ("is fond of", None),
        ("MOVED_TO_SUBJECT", None),
        ("...", None),
    ],
)
def test_a_relation_is_a_predicate_or_is_dropped(relation: str, predicate: str | None) -> None:
    """In any case and with any separators; what has no type is counted."""
    link = {"from": 0, "to": 1, "relation": relation, "turn": 3}
    found = checked(MOVED, links=[link])
    assert [link.predicate for link in found.links] == ([predicate] if predicate else [])
    assert found.dropped == Counter({} if predicate else {"relation": 1})


def test_a_relation_needs_a_memory_that_states_something() -> None:
    """The turn gave none, or an instruction."""
    link = {"from": 0, "to": 1, "relation": "MOVED_TO", "turn": 3}
    for memories in ([memory()], [MOVED | {"kind": "instruction"}]):
        assert checked(*memories, links=[link]).dropped == Counter({"link": 1})


def test_the_class_of_a_memory_is_the_least_trusted_of_its_turns() -> None:
    """A statement that also comes from the assistant is worth no more than the assistant."""
    said = Window((turn(1, "Shall I order the clay?", role="assistant"), turn(2, "Yes, order the clay.")))
    both = memory(text="Mara wants the clay ordered.", turns=[1, 2], quote="order the clay", valid_from=None)
    alone = memory(
        text="Mara said to order the clay.", turns=[2], quote="Yes, order the clay", valid_from=None
    )
    found = check({"memories": [both, alone], "entities": []}, said)
    assert [one.source_class for one in found.memories] == ["agent", "user"]


@pytest.mark.parametrize(
    "answer", [{}, {"memories": None}, {"memories": [None, 7, []]}, {"memories": {"a": 1}}]
)
def test_an_answer_of_another_shape_gives_nothing(answer: dict[str, Any]) -> None:
    """And raises nothing."""
    assert not check(answer, window(*TURNS)).memories


def test_json_is_found_in_prose_fences_and_thoughts() -> None:
    """The braces of the prose are not the answer."""
    plain = '{"memories": [{"text": "a"}]}'
    for text in (
        plain,
        f"Sure {{here}} it is:\n```json\n{plain}\n```\nAnything else?",
        f'<think>maybe {{"memories": []}}</think>{plain}',
        f'maybe {{"memories": []}}\n</think>\n{plain}',
    ):
        assert object_in(text, LISTS) == ({"memories": [{"text": "a"}]}, False)
    assert object_in("I cannot do that.", LISTS) == (None, False)
    assert object_in("<think>still thinking", LISTS) == (None, False)
    quoted = {"memories": [{"text": "a </think> b"}]}
    assert object_in(json.dumps(quoted), LISTS) == (quoted, False)


def test_a_cut_answer_gives_its_complete_items() -> None:
    """The second memory is not complete."""
    cut = '{"entities": [{"name": "Odile"}], "memories": [{"text": "a"}, {"text": "b'
    assert object_in(cut, LISTS) == ({"entities": [{"name": "Odile"}], "memories": [{"text": "a"}]}, True)


@pytest.mark.parametrize("end", [", ", ', {"text": "b'])
def test_a_memory_with_its_own_entities_is_no_answer(end: str) -> None:
    """Every memory has the list `entities`, as the answer has; an answer in a list is one."""
    item: dict[str, Any] = {"text": "a", "entities": []}
    cut = '{"entities": [], "memories": [ ' + json.dumps(item) + end
    assert object_in(cut, LISTS) == ({"entities": [], "memories": [item]}, True)
    whole = {"entities": [], "memories": [item]}
    assert object_in(f"[{json.dumps(whole)}]", LISTS) == (whole, False)


@pytest.mark.parametrize(
    "part", ["{", '{"a":', "[", '"memories": [', '{"memories":[{', "<think>", "\\", "}{"]
)
def test_hostile_text_takes_bounded_time(part: str) -> None:
    """100,000 characters that begin again and again."""
    begun = time.thread_time()
    object_in(part * (100_000 // len(part)), LISTS)
    check({"memories": [memory(text=part * 100, quote=part * 20_000)]}, window("x" * 100_000))
    assert time.thread_time() - begun < 2.0


def test_many_items_about_long_turns_take_bounded_time() -> None:
    """An endless answer about the longest turns that an event may hold."""
    turns = window(*(f"{n} " + "kiln " * 19_000 for n in range(4)))
    items = [memory(turns=[1, 2, 3, 4], quote=f"no {n}", entities=list(range(50))) for n in range(3_000)]
    names = [{"name": f"Name {n}"} for n in range(3_000)]
    begun = time.thread_time()
    found = check({"memories": items, "entities": names, "links": [{}] * 3_000}, turns)
    assert not found.memories
    assert time.thread_time() - begun < 3.0
