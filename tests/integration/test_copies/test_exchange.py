"""Another instance, and another tenant, recall from an export what the source recalls."""

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from helix_cli.__main__ import app
from helix_cli.stack.stack import Stack
from helix_memory.identity import memory_id
from helix_memory.recall.v1.recall_pb2 import RecallRequest, Scope
from helix_memory.transport.recall_client import RecallClient
from helix_shared.event_log.read import records_of

pytestmark = [pytest.mark.integration, pytest.mark.long, pytest.mark.timeout(300)]

GOLDEN = Path(__file__).parents[2] / "golden"
QUESTIONS = (
    "When do we deploy Atlas?",
    "How often does the signing key rotate?",
    "What is the launch code word?",
    "When does the cafeteria close?",
    "Where is the staging cluster?",
    "What did the tests of billing say?",
    "What is the retry limit of billing?",
    "Who moved to Lisbon?",
)
ERASED_TEXT = "the safe opens with 4711"


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """An instance with the events of the tenant acme, and with an erased memory of umbrella."""
    home = tmp_path_factory.mktemp("source")
    with Stack(home, nats_port=0, query_port=0, models=models_dir, copies={"forwarder": 0}) as running:
        running.wait_ready()
        for record in records_of(GOLDEN / "exports/0.1.0.jsonl"):
            fields = json.loads(record.body)
            _publish(home, {**fields, "tenant_id": "acme", **_named(fields)})
        _publish(home, _event("umbrella", "kept", text="The garden opens in May."))
        _publish(home, _event("umbrella", "secret", text=f"Remember: {ERASED_TEXT}."))
        secret = memory_id("umbrella", "secret", 0)
        _publish(home, _event("umbrella", "forgotten", "forget", memory_ids=[secret]))
        before = home / "before.jsonl"
        _run(home, "export", "--tenant", "umbrella", "--out", str(before))
        assert ERASED_TEXT in before.read_text()
        _run(home, "erase", "--yes", secret, "--tenant", "umbrella")
        yield running


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory, models_dir: Path) -> Iterator[Stack]:
    """An instance that has nothing."""
    home = tmp_path_factory.mktemp("other")
    with Stack(home, nats_port=0, query_port=0, models=models_dir, copies={"forwarder": 0}) as running:
        running.wait_ready()
        yield running


def _event(tenant: str, name: str, kind: str = "memory", **fields: Any) -> dict[str, Any]:
    return {"event_id": name, "tenant_id": tenant, "kind": kind, **fields}


def _named(fields: dict[str, Any]) -> dict[str, Any]:
    """The ids that a golden event names, as they are for acme."""
    made = [json.loads(one.body)["event_id"] for one in records_of(GOLDEN / "exports/0.1.0.jsonl")]
    ids = {memory_id("golden", name, 0): memory_id("acme", name, 0) for name in made}
    renamed: dict[str, Any] = {}
    for field in ("memory_id", "memory_ids", "helpful", "unhelpful"):
        value = fields.get(field)
        if isinstance(value, list):
            renamed[field] = [ids[one] for one in value]
        elif value:
            renamed[field] = ids[value]
    return renamed


def _publish(home: Path, event: dict[str, Any], *, wait: bool = False) -> None:
    file = home / "event.jsonl"
    file.write_text(json.dumps(event))
    _run(home, "publish", str(file), *(["--wait"] if wait else []))


def _run(home: Path, *arguments: str, code: int = 0) -> str:
    """What a command prints; it must end with `code`."""
    result = CliRunner(env={"HELIX_HOME": str(home)}).invoke(app, list(arguments))
    assert result.exit_code == code, result.output
    return result.output


def _report(stack: Stack, *arguments: str) -> dict[str, Any]:
    """The JSON of a command; notes stand before it."""
    report: dict[str, Any] = json.loads(_run(stack.home.root, *arguments, "--json").splitlines()[-1])
    return report


def _answers(stack: Stack, tenant: str, **when: datetime) -> list[list[tuple[Any, ...]]]:
    """Of each question: texts, times, types and scores in their order."""
    found = []
    with RecallClient(stack.query_address) as client:
        for question in QUESTIONS:
            request = RecallRequest(scope=Scope(tenant_id=tenant), query=question, top_k=20, never_skip=True)
            for field, moment in when.items():
                getattr(request, field).FromDatetime(moment)
            answer = client.recall(request)
            found.append(
                [
                    (
                        one.memory.text,
                        one.memory.type,
                        one.memory.created_at.ToNanoseconds(),
                        one.memory.occurred_at.ToNanoseconds(),
                        round(one.score, 9),
                    )
                    for one in answer.memories
                ]
            )
    return found


def _stored_at(file: Path, event_id: str) -> datetime:
    return next(one.stored_at for one in records_of(file) if json.loads(one.body)["event_id"] == event_id)


@pytest.fixture(scope="module")
def exported(source: Stack, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The export of acme."""
    file = tmp_path_factory.mktemp("export") / "acme.jsonl"
    _run(source.home.root, "export", "--tenant", "acme", "--out", str(file))
    return file


@pytest.fixture(scope="module")
def imported(other: Stack, exported: Path) -> Stack:
    """The other instance, once it has imported acme under its own name and another one."""
    _run(other.home.root, "import", str(exported), "--wait")
    _run(other.home.root, "import", str(exported), "--tenant", "acme-two", "--wait")
    return other


def test_import_recalls_as_the_source(source: Stack, imported: Stack, exported: Path) -> None:
    """The same texts with the same scores and times in the same order, now, then, and under another name."""
    then = _stored_at(exported, "cor-1") - timedelta(microseconds=1)
    moments: tuple[dict[str, datetime], ...] = ({}, {"as_of": then}, {"valid_at": datetime.now(UTC)})
    for when in moments:
        expected = _answers(source, "acme", **when)
        assert sum(map(len, expected)) > len(QUESTIONS)
        assert _answers(imported, "acme", **when) == expected
        assert _answers(imported, "acme-two", **when) == expected
    # the questions tell the two times apart
    texts = [[one[0] for one in _answers(imported, "acme-two", **when)[3]] for when in moments[:2]]
    assert "The cafeteria closes at four." in texts[0]
    assert "The cafeteria closes at three." in texts[1]


def test_importing_again_changes_nothing(imported: Stack, exported: Path) -> None:
    """What the log has is left out by its id, also what a later event of the file took back."""
    before = _report(imported, "import", str(exported))
    again = _report(imported, "import", str(exported), "--tenant", "acme-two")
    assert before["published"] == again["published"] == 0
    assert before["duplicates"] == again["duplicates"] == len(list(records_of(exported)))


def test_clone_recalls_as_its_tenant(source: Stack) -> None:
    """A clone has the memories and times of its tenant; cloning again adds nothing."""
    _run(source.home.root, "clone", "--tenant", "acme", "--to", "acme-clone", "--wait")
    assert _answers(source, "acme-clone") == _answers(source, "acme")
    again = _report(source, "clone", "--tenant", "acme", "--to", "acme-clone")
    assert again["published"] == 0


def test_erased_event_does_not_leave(source: Stack, tmp_path: Path) -> None:
    """Neither the erased text comes out nor an event that names nothing else; the import refuses none."""
    file = tmp_path / "umbrella.jsonl"
    said = _run(source.home.root, "export", "--tenant", "umbrella", "--out", str(file))
    assert "left out 2 events" in said, "the log has lost the event; what only names it is left"
    assert ERASED_TEXT not in file.read_text()
    assert [json.loads(one.body)["event_id"] for one in records_of(file)] == ["kept"]


def test_what_corrects_an_erased_memory_arrives_and_what_was_refused_fails_nothing(
    source: Stack, other: Stack, tmp_path: Path
) -> None:
    """Two corrections of a fee whose first version is erased, and a forget that named nothing."""
    home, file = source.home.root, tmp_path / "parasol.jsonl"
    first = memory_id("parasol", "fee", 0)
    told = {"text": "The annual fee is 84 euros.", "user_id": "ana", "tags": ["money"], "session_id": "board"}
    _publish(home, _event("parasol", "fee", **told))
    for name, text in (("fee2", "The annual fee is 90 euros."), ("fee3", "The annual fee is 96 euros.")):
        _publish(home, _event("parasol", name, "correct", memory_id=first, text=text))
    _publish(home, _event("parasol", "nothing", "forget", memory_ids=["0" * 32]))
    _run(home, "erase", "--yes", first, "--tenant", "parasol", "--no-wait")
    deadline = time.monotonic() + 120
    while (
        CliRunner(env={"HELIX_HOME": str(home)})
        .invoke(app, ["export", "--tenant", "parasol", "--out", str(file)])
        .exit_code
        or not file.exists()
    ):
        assert time.monotonic() < deadline, "the erase event is not applied"
        time.sleep(0.5)
    assert "84 euros" not in file.read_text()
    told = _report(other, "import", str(file), "--tenant", "parasol-two", "--wait")
    assert told["refused"] == []
    # the erase event, and the erased one as long as the log has it
    assert told["left_out"] in {1, 2}
    assert [one["field"] for one in told["refused_before"]] == ["memory_ids"]
    for user, texts in ("ana", ["The annual fee is 96 euros."]), ("bo", []):
        request = RecallRequest(
            scope=Scope(tenant_id="parasol-two", user_id=user), query="How much is the fee?", never_skip=True
        )
        with RecallClient(other.query_address) as client:
            found = client.recall(request).memories
        assert [one.memory.text for one in found] == texts


def test_export_without_the_data_folder_refuses_where_something_was_erased(
    source: Stack, tmp_path: Path
) -> None:
    """What was erased is known to the data folder alone; without it nothing is written."""
    out = tmp_path / "all.jsonl"
    said = _run(tmp_path, "export", "--nats", source.nats_url, "--out", str(out), code=1)
    assert "must not be exported" in said
    assert not out.exists()


@pytest.mark.parametrize("damage", ["cut", "changed"])
def test_damaged_export_publishes_nothing(
    imported: Stack, exported: Path, tmp_path: Path, damage: str
) -> None:
    """A file is taken whole or not at all, and the line is named."""
    lines = exported.read_bytes().splitlines(keepends=True)
    lines = lines[:-3] if damage == "cut" else [*lines[:7], lines[7].replace(b"e", b"E", 1), *lines[8:]]
    file = tmp_path / "damaged.jsonl"
    file.write_bytes(b"".join(lines))
    said = _run(imported.home.root, "import", str(file), "--tenant", "acme-three", code=1)
    assert f"line {len(lines) + 1 if damage == 'cut' else 8} " in said
    assert not any(_answers(imported, "acme-three"))


@pytest.mark.parametrize("release", sorted(path.stem for path in (GOLDEN / "exports").iterdir()))
def test_export_of_every_release_is_taken(imported: Stack, release: str) -> None:
    """What 0.1 wrote, every later release reads: every event of the file, with its time."""
    file = GOLDEN / f"exports/{release}.jsonl"
    _run(imported.home.root, "import", str(file), "--wait")
    answers = dict(zip(QUESTIONS, _answers(imported, "golden"), strict=True))
    first = {question: found[0] for question, found in answers.items()}
    assert first["When does the cafeteria close?"][0] == "The cafeteria closes at four."
    assert first["What is the launch code word?"][0] == "The launch code word is Bluebird."
    assert first["How often does the signing key rotate?"][0].startswith("The signing key of Atlas rotates")
    texts = {one[0] for found in answers.values() for one in found}
    assert "Our staging cluster runs in Frankfurt." not in texts
    stored = {one.stored_at.replace(tzinfo=UTC) for one in records_of(file)}
    made = {datetime.fromtimestamp(one[2] / 1e9, UTC) for found in answers.values() for one in found}
    assert made <= stored


@pytest.mark.parametrize("release", sorted(path.name for path in (GOLDEN / "archives").iterdir()))
def test_archive_of_every_release_is_read(release: str) -> None:
    """The archive holds the same events as the export of the same release, byte for byte."""
    exported_events = list(records_of(GOLDEN / f"exports/{release}.jsonl"))
    assert list(records_of(GOLDEN / "archives" / release)) == exported_events
