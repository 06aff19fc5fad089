"""Links between memories in the answer of a running service: what holds goes first, history keeps order."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from helix_memory.explanation import recompute

from .past import NOW

pytestmark = pytest.mark.integration

DAY = timedelta(days=1)
OLD = "The workshop buys its oak from the Brenner sawmill."
MIDDLE = "Brenner is closing, so Adler delivers from now on."
LATEST = "Too many knots at Adler. We went over to Lindqvist."
OTHERS = [f"Shelf {number} of the workshop holds screws of {number} millimetres." for number in range(40)]


@pytest.fixture(scope="module")
def workshop(
    tmp_path_factory: pytest.TempPathFactory, corpus_type: Any, encoder: Any, serve: Any
) -> Iterator[tuple[Any, dict[str, str]]]:
    """Three suppliers in a row; the second memory is closed and hidden."""
    folder: Path = tmp_path_factory.mktemp("workshop")
    corpus = corpus_type.create(folder / "data", encoder)
    rows: list[dict[str, Any]] = [
        {"text": OLD, "occurred_at": NOW - 90 * DAY},
        {"text": MIDDLE, "occurred_at": NOW - 60 * DAY, "hidden": True, "is_latest": False},
        {"text": LATEST, "occurred_at": NOW - 30 * DAY},
        *({"text": text} for text in OTHERS),
    ]
    ids = corpus.add([dict(row) for row in rows])
    old, middle, latest = (corpus.ordinals[f"acme/{text}"] for text in (OLD, MIDDLE, LATEST))
    corpus.live.graph.relate(middle, old, "UPDATES", 0.95)
    corpus.live.graph.relate(latest, middle, "UPDATES", 0.95)
    corpus.publish()
    corpus.live.close()
    service = serve(folder)
    yield service, dict(zip([row["text"] for row in rows], ids, strict=True))
    assert service.stop() == 0


def texts(reply: Any) -> list[str]:
    """Texts of a reply, best first."""
    return [found.memory.text for found in reply.memories]


def test_the_latest_of_a_chain_goes_first(workshop: Any) -> None:
    """Through the hidden one, and in front of the memory whose words the question repeats."""
    service, ids = workshop
    reply = service.recall("From which sawmill does the workshop buy oak?", explain=True, top_k=5)
    assert texts(reply)[0] == LATEST
    assert MIDDLE not in texts(reply)
    by_id = {one.memory_id: one for one in reply.explanation.candidates}
    added = [step.name for step in by_id[ids[LATEST]].steps if step.adds]
    assert added == ["late_interaction", "replacement"]
    # it keeps at most `rank.outdated.kept_share` of its score, and stands behind what replaced it
    assert next(step.value for step in by_id[ids[OLD]].steps if step.name == "outdated") < 0.7
    assert all(recompute(one) == one.score for one in by_id.values())


def test_history_is_packed_in_the_order_of_time(workshop: Any) -> None:
    """Earliest first; other answers begin with the best memory and end with the second."""
    service, _ = workshop
    reply = service.recall("How often has the workshop changed its sawmill?", top_k=6)
    moments = {found.memory.memory_id: found.memory.occurred_at.ToDatetime() for found in reply.memories}
    packed = [moments[one] for one in reply.context.memory_ids]
    assert len(packed) > 2
    assert packed == sorted(packed)


def test_a_question_about_earlier_times_gets_the_old_value(workshop: Any) -> None:
    """Links do not count for it."""
    service, _ = workshop
    reply = service.recall("From which sawmill did the workshop originally buy its oak?", top_k=5)
    assert texts(reply)[0] == OLD


def test_the_old_value_holds_before_its_replacement(workshop: Any) -> None:
    """`valid_at` leaves out what came later, and its links with it."""
    service, _ = workshop
    reply = service.recall("From which sawmill does the workshop buy oak?", valid_at=NOW - 80 * DAY, top_k=5)
    assert texts(reply)[0] == OLD
