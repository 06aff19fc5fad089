"""Erasure in a running stack: every kind of event, every selection, while ingest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from helix_memory import subjects

from .conftest import Report
from .erasures import TENANT, erase_all, ingest_going_on, running

pytestmark = pytest.mark.integration


def test_erased_canaries_are_nowhere_while_ingest_goes_on(tmp_path: Path, models_dir: Path) -> None:
    """Twelve canaries of six kinds, by id, session, document and user; then one is published again."""
    with running(tmp_path / "home", models_dir) as run:
        for number in range(12):
            run.write(number, f"s{number // 6}")
        run.helix.remember("The last one.", wait=True)
        before = run.canaries_to_find()
        assert set(run.recalled()) >= {c.word for c in run.canaries if c.kind != "refused"}
        found = run.residue(before).counts
        assert found["HELIX_DLQ"]
        assert any(place.startswith("data/archive/") for place in found), "the search reads the archive"
        with ingest_going_on(run, every_seconds=0.5):
            erased = erase_all(run)
            run.wait_clean(before, "erasure")
            again = next(c for c in run.canaries if c.kind == "memory")
            assert again.written is not None
            body = {
                "kind": "memory", "event_id": again.written.event_id, "tenant_id": TENANT,
                "session_id": again.session, "user_id": "ann", "text": f"{again.word} is back.",
            }  # fmt: skip
            subject = subjects.event_subject(TENANT, again.session, "memory")
            sequence = run.publish(subject, body, "the window of its id has passed")
            run.helix.wait(run.helix.remember("After it."))
            run.wait_clean(before, "published again")
            places = {place.name: place for place in run.receipt(erased[0]).places}
        assert sequence > erased[-1].sequence
        assert places["events"].count
        assert places["archive"].count
        assert all(place.generation for place in places.values())


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_a_thousand_canaries_stay_gone_after_a_restart(
    tmp_path: Path, models_dir: Path, report: Report
) -> None:
    """Nowhere within 60 s, and not back after a restart."""
    home, canaries_wanted = tmp_path / "home", report.scaled(1000, least=12)
    with running(home, models_dir) as run:
        with ingest_going_on(run):
            for number in range(canaries_wanted):
                run.write(number, f"s{number // 20}")
        run.helix.wait(run.helix.remember("The last one."))
        before, canaries = run.canaries_to_find(), run.canaries
        found = run.residue(before).counts
    report.counts = {"canaries": len(canaries), "places before": len(found), "found before": found.total()}
    report.control(found.total() > 0, "the search finds the canaries before they are erased")
    with running(home, models_dir) as run:
        run.canaries = canaries
        with ingest_going_on(run):
            erased = erase_all(run)
            run.helix.wait(erased[-1])
            run.wait_clean(before, "erasure")
            for one in erased:
                assert run.receipt(one).complete
        figures = run.seconds
    with running(home, models_dir) as run:
        run.canaries = canaries
        run.wait_clean(before, "restart")
        figures |= run.seconds
    report.figure = ", ".join(f"{name} after {seconds:.1f} s" for name, seconds in figures.items())
    assert figures["erasure: no residue"] < 60
