"""The profile of a user in a tenant whose members share what they say."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from helix_memory.recall.v1 import recall_pb2
from helix_shared.artifacts.signals.reader import Signals
from tests.integration.test_query.stated import with_facets

pytestmark = pytest.mark.integration

NOW = datetime(2026, 3, 4, 12, tzinfo=UTC)
OTHERS = 1_500
"""More than a profile reads of the memories of one owner."""
HOME = "I live in Turku"


def _shared(text: str, user: str, days_ago: int) -> dict[str, Any]:
    """A row of what a user told everyone."""
    at = NOW - timedelta(days=days_ago)
    return with_facets(text, name=f"{user} {text}", user_id=user, occurred_at=at)


@pytest.mark.parametrize("owner", ["", "ana"])
def test_what_others_shared_takes_no_place_of_what_the_user_said(
    corpus: Any, in_process: Any, owner: str
) -> None:
    """To everyone or not; theirs is later, so it is stronger. A recall finds the home of the user as well."""
    rows = [_shared(f"I live in house {number} of the lane", f"u{number}", 1) for number in range(OTHERS)]
    corpus.add([*rows, _shared(HOME, "ana", 200) | {"owner": owner}])
    corpus.publish()
    service = in_process(corpus.root)
    scope = recall_pb2.Scope(tenant_id="acme", user_id="ana")
    profile = service.stub.GetProfile(recall_pb2.GetProfileRequest(scope=scope), timeout=10).profile
    assert [line.text.rpartition(" (")[0] for line in profile.lines] == [HOME]
    answer = service.recall("where do I live?", scope=scope, explain=True)
    gaining = [
        one.excerpt
        for one in answer.explanation.candidates
        for step in one.steps
        if step.name == "profile_fact" and step.value
    ]
    assert gaining == [HOME]


def test_who_said_what_is_not_read_again_for_a_new_generation(
    corpus: Any, in_process: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what was added is; the profile has it."""
    scope = recall_pb2.Scope(tenant_id="acme", user_id="ana")
    corpus.add([_shared(f"I love tea number {number}", f"u{number}", 1) for number in range(200)])
    corpus.publish()
    service = in_process(corpus.root)
    asked = recall_pb2.GetProfileRequest(scope=scope)
    assert not service.stub.GetProfile(asked, timeout=10).profile.lines
    corpus.add([_shared(HOME, "ana", 1)])
    corpus.publish()
    assert service.current.refresh()
    read: list[int] = []
    original = Signals.records

    def counted(self: Signals, ordinals: Any) -> Any:
        read.extend(ordinals.tolist())
        return original(self, ordinals)

    monkeypatch.setattr(Signals, "records", counted)
    [line] = service.stub.GetProfile(asked, timeout=10).profile.lines
    assert line.text.startswith(HOME)
    assert set(read) == {200}
