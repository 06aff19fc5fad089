"""Erasure in a running stack: every kind of event, every selection, while ingest goes on."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.residue.files import residue_in_files
from helix_memory import subjects
from helix_shared.keys.key_store import KEYS

from .conftest import Report
from .erasures import TENANT, erase_all, ingest_going_on, running

pytestmark = pytest.mark.integration


@pytest.mark.long
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
            run.wait_clean(before, "erasure", after=erased[-1])
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
            command(tmp_path / "home", "rebuild", "--accept-differences")
            run.wait_clean(before, "rebuild")
            places = {place.name: place for place in run.receipt(erased[0]).places}
        assert sequence > erased[-1].sequence
        assert places["events"].count
        assert places["archive"].count
        assert all(place.generation for place in places.values())


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_a_thousand_canaries_stay_gone_after_a_restart_and_a_rebuild(
    tmp_path: Path, models_dir: Path, report: Report
) -> None:
    """On a quiet machine not recallable within 5 s and nowhere within 60 s; and never back."""
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
            run.wait_clean(before, "erasure", after=erased[-1])
            for one in erased:
                assert run.receipt(one).complete
        figures = run.seconds
    with running(home, models_dir) as run:
        run.canaries = canaries
        run.wait_clean(before, "restart")
        command(home, "rebuild", "--accept-differences")
        run.wait_clean(before, "rebuild")
        figures |= run.seconds
    report.figure = ", ".join(f"{name} after {seconds:.1f} s" for name, seconds in figures.items())
    assert figures["erasure: not recallable"] < 5
    assert figures["erasure: no residue"] < 60


@pytest.mark.faults
@pytest.mark.timeout(1800)
def test_a_restored_older_backup_has_nothing_of_what_was_erased(
    tmp_path: Path, models_dir: Path, report: Report
) -> None:
    """A backup with every canary is restored after their erasure: residue 0 before and while it serves."""
    home, other, backups = tmp_path / "home", tmp_path / "restored", tmp_path / "backups"
    with running(home, models_dir) as run:
        for number in range(report.scaled(60, least=12)):
            run.write(number, f"s{number // 6}")
        run.helix.wait(run.helix.remember("The last one."))
        before, canaries = run.canaries_to_find(), run.canaries
        command(home, "backup", str(backups))
        copied = tmp_path / "keys of before the erasure"
        command(home, "keys", "copy", str(copied))
        erased = erase_all(run)
        run.wait_clean(before, "erasure", after=erased[-1])
        for one in erased:
            assert run.receipt(one).complete
    assert not residue_in_files(backups, before)
    # the control: with the keys of before the erasure the words come back
    command(tmp_path / "control", "restore", str(backups), "--keys", str(copied))
    found = residue_in_files(tmp_path / "control", before).counts
    report.counts = {"canaries": len(canaries), "found with old keys": found.total()}
    report.control(found.total() > 0, "with the keys of before the erasure the restored home has the words")
    command(other, "restore", str(backups), "--keys", str(home / "data" / KEYS))
    assert not residue_in_files(other, before)
    with running(other, models_dir) as run:
        run.canaries = canaries
        run.helix.wait(run.helix.remember("After the restore."))
        run.wait_clean(before, "restore")
        left = {memory.text for memory in run.helix.list().memories}
        report.figure = f"residue 0, clean after {run.seconds['restore: no residue']:.1f} s"
    assert not any(canary.word in text.lower() for canary in canaries for text in left)
    assert left == {"After the restore."}, "the erasure of the user took all the others"


def command(home: Path, *arguments: str) -> None:
    """A command on a home that succeeds."""
    result = CliRunner(env={"HELIX_HOME": str(home)}).invoke(app, list(arguments))
    assert result.exit_code == 0, result.output
