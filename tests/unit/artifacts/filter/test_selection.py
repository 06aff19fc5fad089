"""Selections: all readers apply them as the plain rule says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from helix_shared.artifacts.filter.filter import Filter
from helix_shared.artifacts.filter.filters import (
    FILTERS,
    EventTime,
    Projects,
    Sessions,
    Types,
    WithFlags,
    WithoutFlags,
)
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.artifacts.lexicon.reader import LexiconReader
from helix_shared.artifacts.lexicon.writer import LexiconWriter, entries_of
from helix_shared.artifacts.vectors.reader import VectorReader
from helix_shared.artifacts.vectors.writer import VectorWriter
from helix_shared.errors import InvalidInputError
from tests.examples import examples

START = datetime(2026, 1, 1, tzinfo=UTC)
TENANTS = ("acme", "o'brien", "acme' OR '1'='1")
USERS = ("", "ann", "o'hara", "%", "*")
PRINCIPALS = ("*", "team", "o'team", "te")
TYPES = ("episodic", "decision")
PROJECTS = ("", "pro'ject", "proj")
SESSIONS = ("s1", "s2")
FLAGS = ("instruction", "secret")
COUNT = 240


def corpus() -> list[dict[str, Any]]:
    """Rows whose names contain quotes and SQL."""
    draw = np.random.default_rng(7)

    def one(values: tuple[str, ...]) -> str:
        return values[int(draw.integers(len(values)))]

    return [
        {
            "tenant_id": one(TENANTS),
            "owner": one(USERS),
            "audience": sorted({one(PRINCIPALS) for _ in range(2)}),
            "type": one(TYPES),
            "project_id": one(PROJECTS),
            "session_id": one(SESSIONS),
            "event_at": START + timedelta(seconds=int(draw.integers(6)), microseconds=int(draw.integers(2))),
            "hidden": bool(draw.random() < 0.1),
            "flags": sorted({one(FLAGS) for _ in range(2)}) if draw.random() < 0.5 else [],
            "text": "common word",
        }
        for _ in range(COUNT)
    ]


def is_selected(row: dict[str, Any], wanted: Selection) -> bool:
    """The rule, written independently of the code under test."""
    if row["hidden"] or row["tenant_id"] != wanted.tenant_id:
        return False
    if row["owner"] and row["owner"] != wanted.user_id:
        return False
    if "*" not in row["audience"] and not any(name in row["audience"] for name in wanted.principals):
        return False
    return all(passes(row, one) for one in wanted.filters)


def passes(row: dict[str, Any], wanted: Filter) -> bool:
    """The rule of each filter."""
    match wanted:
        case Types(names):
            return row["type"] in names
        case Projects(names):
            return row["project_id"] in names
        case Sessions(names):
            return row["session_id"] in names
        case EventTime(after, before):
            late_enough = after is None or row["event_at"] >= after
            return late_enough and (before is None or row["event_at"] < before)
        case WithFlags(names):
            return any(name in row["flags"] for name in names)
        case WithoutFlags(names):
            return not any(name in row["flags"] for name in names)
    raise AssertionError(wanted)


def subset(values: tuple[str, ...], *, least: int = 0) -> st.SearchStrategy[tuple[str, ...]]:
    """Up to two values, some of which match nothing."""
    others = ("semantic",) if values is TYPES else ("absent", "a')--")
    return st.lists(st.sampled_from((*values, *others)), min_size=least, max_size=2).map(tuple)


moments = st.none() | st.builds(
    lambda seconds, micro: START + timedelta(seconds=seconds, microseconds=micro),
    st.integers(0, 6),
    st.integers(0, 1),
)
selections = st.builds(
    Selection,
    tenant_id=st.sampled_from((*TENANTS, "absent")),
    user_id=st.sampled_from((*USERS, "absent")),
    principals=subset(PRINCIPALS),
    filters=st.tuples(
        st.none() | st.builds(Types, subset(TYPES, least=1)),
        st.none() | st.builds(Projects, subset(PROJECTS, least=1)),
        st.none() | st.builds(Sessions, subset(SESSIONS, least=1)),
        st.none() | st.builds(EventTime, moments, moments),
        st.none() | st.sampled_from([WithFlags(("secret",)), WithFlags(FLAGS), WithFlags(("invisible",))]),
        st.none() | st.sampled_from([WithoutFlags(("secret",)), WithoutFlags(FLAGS)]),
    ).map(lambda filters: tuple(one for one in filters if one is not None)),
)


@dataclass(repr=False)
class Engines:
    """One corpus in both engines."""

    rows: list[dict[str, Any]]
    vectors: VectorReader
    lexicon: LexiconReader


@pytest.fixture(scope="module")
def engines(
    tmp_path_factory: pytest.TempPathFactory, records: Callable[[list[dict[str, Any]]], pa.Table]
) -> Engines:
    """The corpus in LanceDB and in tantivy."""
    folder = tmp_path_factory.mktemp("engines")
    rows = corpus()
    table = records(rows)
    VectorWriter.create(folder, 8).upsert(table)
    writer = LexiconWriter.create(folder / "lexicon")
    writer.upsert(entries_of(table))
    writer.commit()
    writer.close()
    return Engines(rows, VectorReader(folder), LexiconReader(folder / "lexicon", scratch=folder / "scratch"))


@settings(
    max_examples=examples(150), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(wanted=selections)
def test_both_engines_return_what_the_plain_rule_selects(engines: Engines, wanted: Selection) -> None:
    """LanceDB, tantivy and `admits` apply tenant, owner, audience and all filters alike."""
    rows, vectors, lexicon = engines.rows, engines.vectors, engines.lexicon
    expected = {index for index, row in enumerate(rows) if is_selected(row, wanted)}
    assert set(vectors.search(np.ones(8, np.float32), wanted, limit=COUNT).ordinals.tolist()) == expected
    assert set(lexicon.search("common", wanted, limit=COUNT).ordinals.tolist()) == expected
    admitted = {index for index, row in enumerate(rows) if wanted.admits(row) and not row["hidden"]}
    assert admitted == expected


def test_a_filter_does_not_change_scores(
    engines: Engines,
) -> None:
    """A narrower selection does not change the scores of what it still selects."""
    lexicon = engines.lexicon
    wide = lexicon.search("common word", Selection("acme", principals=("team",)), limit=COUNT)
    narrow = lexicon.search(
        "common word",
        Selection(
            "acme",
            principals=("team",),
            filters=(Types(("decision",)), Sessions(("s1",)), EventTime(after=START)),
        ),
        limit=COUNT,
    )
    scores = dict(zip(wide.ordinals.tolist(), wide.scores.tolist(), strict=True))
    assert 0 < len(narrow) < len(wide)
    assert [scores[ordinal] for ordinal in narrow.ordinals.tolist()] == narrow.scores.tolist()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("tenant_id", ""),
        ("user_id", "a\0b"),
        ("principals", ("\ud800",)),
        ("as_of", datetime(2026, 1, 1)),  # noqa: DTZ001 - the missing zone is the point
    ],
)
def test_an_invalid_selection_is_refused(field: str, value: object) -> None:
    """No tenant, NUL, a lone surrogate and a time without zone; the error names the field."""
    arguments: dict[str, Any] = {"tenant_id": "acme", field: value}
    with pytest.raises(InvalidInputError) as refused:
        Selection(**arguments)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("build", "field"),
    [
        (lambda: Types(("poem",)), "filter.types"),
        (lambda: Projects(("a\0b",)), "filter.project_ids"),
        (lambda: Sessions(("\ud800",)), "filter.session_ids"),
        (lambda: WithFlags(("rude",)), "filter.flags"),
        (lambda: WithoutFlags(("rude",)), "filter.exclude_flags"),
        (lambda: EventTime(before=datetime(2026, 1, 1)), "filter.event_before"),  # noqa: DTZ001 - naive
    ],
)
def test_an_invalid_filter_is_refused(build: Callable[[], Filter], field: str) -> None:
    """An unknown type, NUL, a lone surrogate and a time without zone; the error names the field."""
    with pytest.raises(InvalidInputError) as refused:
        build()
    assert refused.value.field == field


def test_the_sql_of_a_selection() -> None:
    """Values are literals, filters add their conditions in order, and the tenant is outermost."""
    filters = (
        Types(("code",)),
        Projects(("",)),
        Sessions(("s1", "o'b")),
        EventTime(START, START + timedelta(seconds=1)),
        WithFlags(("instruction",)),
        WithoutFlags(("secret", "invisible")),
    )
    assert tuple(map(type, filters)) == FILTERS
    now = Selection("a'b", "ann", ("hr",), filters)
    assert now.sql() == (
        "(hidden = false AND owner IN ('', 'ann') AND array_has_any(audience, ['*', 'hr'])"
        " AND type IN ('code') AND project_id IN ('') AND session_id IN ('s1', 'o''b')"
        " AND event_at >= to_timestamp_micros(1767225600000000)"
        " AND event_at < to_timestamp_micros(1767225601000000)"
        " AND array_has_any(flags, ['instruction'])"
        " AND NOT array_has_any(flags, ['secret', 'invisible'])) AND (tenant_id = 'a''b')"
    )
    assert Selection("t", as_of=START).sql() == (
        "(created_at <= to_timestamp_micros(1767225600000000) AND (hidden = false OR deleted_at IS NULL)"
        " AND owner IN ('') AND array_has_any(audience, ['*'])) AND (tenant_id = 't')"
    )


def test_access_and_past_moment_are_made_once() -> None:
    """Every row of an answer is compared with both; a changed selection has its own."""
    selection = Selection("acme", "ann", ("board",))
    assert selection.access is selection.access
    assert selection.past is selection.past
    changed = replace(selection, user_id="bob", as_of=datetime(2026, 1, 1, tzinfo=UTC))
    assert changed.access.owners == ("", "bob")
    assert changed.past
    assert not selection.past
    assert replace(changed, user_id="ann", as_of=None) == selection
