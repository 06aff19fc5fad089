"""Where the first candidates are turns of conversations, a question is answered without hops."""

from types import SimpleNamespace
from typing import cast

import numpy as np

from helix_query.profile.intent import Intent
from helix_query.recall.candidates import Candidates, Route
from helix_query.recall.context import RecallContext
from helix_query.recall.stages.route import CHECKED_CANDIDATES, route_after_search

ASKED = Route(intents=(Intent.MULTI_HOP, Intent.CURRENT_VALUE), reason="rules: multi_hop")


def settled(
    sessions: list[int],
    *,
    most_turns: float = 0.5,
    route: Route = ASKED,
    text: str = "which machine do they use?",
) -> Route:
    """The route after a search that found memories of these sessions, best first; 0: of none."""
    context = SimpleNamespace(
        query=SimpleNamespace(text=text),
        generation=SimpleNamespace(signals=SimpleNamespace(session_code=np.array(sessions, np.int64))),
        profile=SimpleNamespace(route=SimpleNamespace(most_turns=most_turns)),
    )
    found = cast("Candidates", Found(len(sessions)))
    return route_after_search(cast("RecallContext", context), found, route)


class Found:
    """So many candidates, best first, with what the stage reads of them."""

    def __init__(self, count: int) -> None:
        self.ordinals, self.fused = np.arange(count), np.linspace(1.0, 0.0, count)

    def __len__(self) -> int:
        return len(self.ordinals)


def test_turns_are_ordered_by_relevance() -> None:
    """Two of three are turns; the other intents stay, and the reason says what was found."""
    route = settled([7, 7, 0])
    assert route.intents == (Intent.CURRENT_VALUE,)
    assert route.reason == "rules: multi_hop; found turns: one hop"


def test_documents_are_walked() -> None:
    """Half of them is not more than half."""
    assert settled([7, 0]) is ASKED


def test_a_relation_of_a_relation_is_walked_among_turns() -> None:
    """Nobody says it in one turn: who wrote it is in one, where that person sits in another."""
    assert settled([7, 7, 0], text="Which team does the author of the retry budget belong to?") is ASKED


def test_only_the_first_candidates_tell() -> None:
    """What was found last is beside the question."""
    assert settled([0] * CHECKED_CANDIDATES + [7] * 3 * CHECKED_CANDIDATES) is ASKED


def test_a_profile_may_walk_among_turns() -> None:
    """1 is never exceeded."""
    assert settled([7, 7, 7], most_turns=1.0) is ASKED


def test_other_questions_keep_their_route() -> None:
    """And so does one that found nothing."""
    plain = Route(intents=(Intent.WHO,))
    assert settled([7, 7], route=plain) is plain
    assert settled([]) is ASKED
