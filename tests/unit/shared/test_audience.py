"""Who may recall a memory, and whose text a memory may therefore hold."""

from __future__ import annotations

from itertools import combinations, product
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from helix_shared.artifacts.filter.filters import Projects, Sessions
from helix_shared.artifacts.filter.selection import Selection
from helix_shared.audience import EVERYONE, Scope, audience_of, may_quote, owner_of

USERS = ("", "ann", "bob")
NAMES = (EVERYONE, "hr", "dev")
PLACES = ("", "a", "b")
CALLERS = [
    Selection(
        tenant_id=tenant,
        user_id=user,
        principals=principals,
        filters=(*map(Projects, projects), *map(Sessions, sessions)),
    )
    for tenant in ("acme", "other")
    for user in (*USERS, "somebody else")
    for count in range(3)
    for principals in combinations(("hr", "dev", "ops"), count)
    for projects, sessions in product(((), (("a",),), (("b",),)), repeat=2)
]

scopes = st.fixed_dictionaries(
    {
        "tenant_id": st.sampled_from(["acme", "other"]),
        "user_id": st.sampled_from(USERS),
        "project_id": st.sampled_from(PLACES),
        "session_id": st.sampled_from(PLACES),
        "acl": st.lists(st.sampled_from(NAMES), max_size=3),
        "shared": st.booleans(),
    }
)


def callers_of(fields: dict[str, Any]) -> set[int]:
    """Which of `CALLERS` recall a memory with these fields, by the rule that recall itself applies."""
    row = fields | {
        "owner": owner_of(fields["user_id"], shared=fields["shared"]),
        "audience": audience_of(fields["acl"]),
        "type": "episodic",
        "event_at": None,
        "created_at": None,
    }
    return {number for number, caller in enumerate(CALLERS) if caller.admits(row)}


@given(scopes, scopes)
def test_a_memory_may_quote_exactly_what_all_its_callers_may_recall(
    quoting: dict[str, Any], quoted: dict[str, Any]
) -> None:
    """The rule against its definition, over every kind of caller; inside one place it refuses no more."""
    allowed = may_quote(Scope.of(**quoting), Scope.of(**quoted))
    all_see_both = callers_of(quoting) <= callers_of(quoted)
    place = ("tenant_id", "project_id", "session_id")
    same_place = [quoting[name] for name in place] == [quoted[name] for name in place]
    assert allowed == (all_see_both and same_place)
