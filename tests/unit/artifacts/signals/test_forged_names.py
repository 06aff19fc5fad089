"""Forged names: a name with separators or with the sign of everyone gives no access."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from helix_shared.artifacts.filter.scopes import scope_key
from helix_shared.artifacts.signals.columns import AUDIENCE, audience_code, signals_of
from helix_shared.artifacts.signals.row_codes import codes_of_rows

Records = Callable[[list[dict[str, Any]]], pa.Table]

FORGED = ["a\x1f*", "*\x1fa", "\x1f*", "a\x1e*", "a\x1e\x1f*", "**", " *", "*\n"]
names = st.text(alphabet=st.sampled_from(["\x1e", "\x1f", "a", "*"]), min_size=1, max_size=4)
lists = st.lists(names, min_size=1, max_size=3)


def test_an_access_list_is_public_only_if_it_holds_everyone(records: Records) -> None:
    """A name with a separator and the sign of everyone is a single name."""
    table = records([{"audience": [name]} for name in FORGED] + [{"audience": ["a", "*"]}])
    codes = signals_of(table)[1][AUDIENCE]
    assert np.count_nonzero(codes == 0) == 1
    assert codes[-1] == 0
    assert len(set(codes.tolist())) == len(codes)


@given(lists, lists)
def test_two_access_lists_have_one_code_only_if_they_are_equal(one: list[str], other: list[str]) -> None:
    """Or if both hold everyone."""
    both_open = "*" in one and "*" in other
    assert (audience_code(one) == audience_code(other)) == (one == other or both_open)


@given(st.lists(st.tuples(names, lists), min_size=1, max_size=8))
def test_rows_of_a_table_share_a_code_only_if_they_are_equal(rows: list[tuple[str, list[str]]]) -> None:
    """A code is computed once for each distinct row; a forged name does not equal another row."""
    owners = pa.chunked_array([pa.array([owner for owner, _ in rows])])
    audiences = pa.chunked_array([pa.array([audience for _, audience in rows], pa.list_(pa.string()))])
    codes = codes_of_rows([owners, audiences], lambda row: rows.index(rows[row])).tolist()
    assert codes == [rows.index(row) for row in rows]


@given(st.tuples(names, names), st.tuples(names, names))
def test_a_scope_key_cannot_be_forged(one: tuple[str, str], other: tuple[str, str]) -> None:
    """Different owners or principals have different keys, with any characters in their names."""
    assert (scope_key("acme", *one) == scope_key("acme", *other)) == (one == other)
