"""All of Helix as processes: recalls, status, and restarts after crashes."""

import json
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record, write_record
from helix_cli.stack.children import ServiceChild
from helix_cli.stack.stack import Stack
from helix_memory import subjects
from helix_shared.errors import PermanentError
from tests.integration.test_cli.running import asked, run, until

pytestmark = pytest.mark.integration


def test_the_graph_is_printed_and_exported(stack: Stack, tmp_path: Path) -> None:
    """Entities of the tenant with their links, and all of it as GraphML."""
    home, out = stack.home.root, tmp_path / "graph.graphml"
    said = "Tomasz Wieczorek joined the Ledger team, ask Tomasz Wieczorek about refunds."
    assert run(home, "publish", "--session", "g", "--text", said, "--wait")[0] == 0
    until(lambda: "Tomasz Wieczorek" in run(home, "graph")[1])
    code, printed, err = run(home, "graph", "--out", str(out))
    assert code == 0, err
    assert "written" in printed
    names = [data["name"] for _, data in nx.read_graphml(out).nodes(data=True)]
    assert "tomasz wieczorek" in names
    told = json.loads(run(home, "graph", "--json")[1])
    (entity,) = [one for one in told["entities"] if one["name"] == "tomasz wieczorek"]
    assert entity["display_name"] == "Tomasz Wieczorek"
    assert (entity["links"] > 0, told["nodes"], told["written"]) == (True, len(names), None)


def test_what_is_published_is_recalled(stack: Stack) -> None:
    """The three commands of the help, against real processes."""
    home = stack.home.root
    code, out, err = run(
        home, "publish", "--session", "s1", "--text", "We chose Postgres as database.", "--wait"
    )
    assert code == 0, err
    assert "recallable in generation" in out
    code, out, err = run(home, "recall", "which database did we choose?", "--json")
    assert code == 0, err
    reply = json.loads(out)
    assert "Postgres" in reply["memories"][0]["memory"]["text"]
    assert "Postgres" in run(home, "recall", "which database did we choose?")[1]
    assert "Postgres" in run(home, "recall", "which database did we choose?", "--packed")[1]


def test_future_dates_are_recalled_and_guesses_are_marked(stack: Stack, tmp_path: Path) -> None:
    """On 18 November 2025 a verb dates the audit to January; the April of the dentist is a default."""
    home, file = stack.home.root, tmp_path / "said.jsonl"
    said = ["The audit is on 15 January.", "Dentist on 2 April at 9:30.", "I booked the ferry on Friday."]
    fields = {"kind": "message", "tenant_id": "acme", "session_id": "dates", "role": "user"}
    events = [
        {**fields, "event_id": f"d{n}", "occurred_at": "2025-11-18T15:00:00Z", "text": text}
        for n, text in enumerate(said)
    ]
    file.write_text("".join(f"{json.dumps(event)}\n" for event in events))
    code, _, err = run(home, "publish", str(file), "--wait")
    assert code == 0, err

    code, out, err = run(home, "recall", "audit, dentist, ferry", "--session", "dates", "--json")
    assert code == 0, err
    found = {entry["memory"]["text"]: entry["memory"] for entry in json.loads(out)["memories"]}
    audit, dentist, ferry = (found[text] for text in said)
    assert (audit["event_start"], audit.get("event_guessed", False)) == ("2026-01-15T00:00:00Z", False)
    assert (dentist["event_start"], dentist["event_guessed"]) == ("2026-04-02T00:00:00Z", True)
    assert "event_start" not in ferry

    shown = run(home, "recall", "audit, dentist, ferry", "--session", "dates")[1]
    assert "2026-04-02?" in shown
    assert "2026-01-15?" not in shown
    assert "dates with ? are guesses" in shown


def test_min_seq_waits_for_an_event_and_as_of_goes_back(stack: Stack) -> None:
    """There is no wait in between; --as-of returns the memory as it was before its correction."""
    home = stack.home.root

    def publish(*arguments: str) -> int:
        code, out, err = run(home, "publish", "--json", *arguments)
        assert code == 0, err
        sequence: int = json.loads(out)["last_sequence"]
        return sequence

    def ask(*arguments: str) -> tuple[list[str], dict[str, Any]]:
        for _ in range(10):
            code, out, err = run(home, "recall", "which vessel is the flagship?", "--json", *arguments)
            assert code == 0, err
            reply = json.loads(out)
            # on a busy machine one deadline may be too short; then the reply is stale
            if not reply.get("stale"):
                break
        texts = [found["memory"]["text"] for found in reply["memories"]]
        return [text for text in texts if "flagship" in text], reply["memories"][0]["memory"]

    first = publish("--kind", "memory", "--text", "The flagship is the Aurora.")
    texts, memory = ask("--min-seq", str(first))
    assert texts == ["The flagship is the Aurora."]
    wrong = f"memory_id={memory['memory_id']}"
    again = publish("--kind", "correct", "--set", wrong, "--text", "The flagship is the Boreas.")
    texts, later = ask("--min-seq", str(again))
    assert texts == ["The flagship is the Boreas."]
    assert memory["created_at"] < later["created_at"]
    assert ask("--as-of", memory["created_at"])[0] == ["The flagship is the Aurora."]
    assert ask("--as-of", later["created_at"])[0] == ["The flagship is the Boreas."]


def test_status_of_a_whole_stack_has_no_lag(stack: Stack) -> None:
    """Every part answers."""
    run(stack.home.root, "publish", "--text", "Something to count.", "--wait")
    code, out, err = run(stack.home.root, "status", "--json")
    assert code == 0, err
    report = json.loads(out)
    assert report["lag"] == 0
    assert report["query"]["generation"] > 0
    assert report["query"]["memories"] > 0
    assert len(report["nats"]["consumers"]) == 6
    deep = ("status", "--deep", "--models", str(stack.models))
    code, out, err = run(stack.home.root, *deep, "--json")
    assert code == 0, err
    measured = json.loads(out)
    [shard] = measured["shards"]
    assert (shard["dense"]["recall"], shard["dense_channel"]["recall"]) == (1.0, 1.0)
    assert shard["dense_channel"]["memories"] > 0
    assert measured["graph"]["coverage"]["memories"] > 0
    assert (measured["graph"]["tenant_id"], measured["graph_problem"]) == ("acme", "")
    code, out, err = run(stack.home.root, *deep)
    assert code == 0, err
    assert "recall@100 1.000" in out
    assert "no verdict for acme" in out
    code, out, err = run(stack.home.root, "status", "--deep")
    assert code == 0, err
    assert "--models" in out


def commands_that_talk(home: Path) -> list[list[str]]:
    """Every command that needs a server, with its arguments."""
    memory = "0" * 32
    return [
        ["publish", "--text", "My salary is 93,000."],
        ["import", str(home)],
        ["recall", "what is my salary?"],
        ["why-not", memory, "what is my salary?"],
        ["status"],
        ["dlq", "ls"],
        ["provision"],
    ]


def test_a_home_where_nothing_runs_never_leads_to_another_instance(stack: Stack, tmp_path: Path) -> None:
    """A stopped or mistyped home is an error, and nothing is published elsewhere."""

    def log() -> dict[str, Any]:
        streams = json.loads(run(stack.home.root, "status", "--json")[1])["nats"]["streams"]
        return {row["name"]: row for row in streams}[subjects.EVENTS_STREAM]

    before = log()
    (tmp_path / "note.md").write_text("# Note\n\nText.\n")
    for arguments in commands_that_talk(tmp_path):
        code, _, err = run(tmp_path / "mistyped", *arguments)
        assert (code, "nothing runs in this home" in err) == (3, True), (arguments, err)
    assert log() == before


def test_servers_of_another_instance_are_refused(stack: Stack, tmp_path: Path) -> None:
    """As after a crash, when another instance has taken the ports: the servers report their instance."""
    record = read_record(stack.home)
    assert record is not None
    write_record(HomeFolder.at(tmp_path), replace(record, instance="helix-of-somebody-else"))
    (tmp_path / "note.md").write_text("# Note\n\nText.\n")
    for arguments in commands_that_talk(tmp_path):
        code, out, err = run(tmp_path, *arguments)
        assert (code, "another instance" in out + err) == (3, True), (arguments, out, err)


def test_a_command_line_typed_twice_is_one_event(stack: Stack) -> None:
    """A repeated command is a duplicate; another option makes another event."""
    line = ("publish", "--session", "twice", "--text", "The kettle is descaled monthly.")
    first, second = (run(stack.home.root, *line) for _ in range(2))
    assert (first[0], second[0]) == (0, 0)
    assert "published 1, duplicates 0" in first[1]
    assert "published 0, duplicates 1" in second[1]
    assert "--event-id" in second[2]
    assert "published 1" in run(stack.home.root, *line, "--user", "ann")[1]


def test_forgetting_restoring_and_forgetting_again_is_done_each_time(stack: Stack) -> None:
    """Each command takes effect, although the last repeats the first."""
    home = stack.home.root

    def publish(*arguments: str) -> None:
        code, _, err = run(home, "publish", *arguments, "--wait")
        assert code == 0, err

    def found() -> bool:
        return "verandah" in run(home, "recall", "what colour is the verandah?", "--session", "again")[1]

    publish("--session", "again", "--text", "The verandah is painted green.")
    forget = ("--kind", "forget", "--set", "of_session=again")
    seen = [found()]
    for restore in ((), ("--set", "restore=true"), ()):
        publish(*forget, *restore)
        seen.append(found())
    assert seen == [True, False, True, False]


def test_an_expired_memory_is_hidden_without_another_event(stack: Stack) -> None:
    """The clock of the query service decides; before its time the memory is recalled."""
    home, text = stack.home.root, "The guest code of the gate is 4417."
    # the memory becomes recallable well before
    expires_at = datetime.now(UTC) + timedelta(seconds=12)
    event = ("--kind", "memory", "--text", text, "--set", f"expires_at={expires_at.isoformat()}", "--wait")
    assert run(home, "publish", *event)[0] == 0

    def is_found() -> bool:
        code, out, err = run(home, "recall", "what is the guest code of the gate?", "--json")
        assert code == 0, err
        return text in [found["memory"]["text"] for found in json.loads(out)["memories"]]

    while is_found():
        time.sleep(1)  # each look takes processor time of a command and of the service
    # a busy machine may have answered after it
    assert datetime.now(UTC) >= expires_at


def test_every_service_is_alive_and_ready(stack: Stack) -> None:
    """The query service is ready with its first generation, the others when they read their consumers."""
    run(stack.home.root, "publish", "--text", "The first memory.", "--wait")
    services = [one for one in stack.processes if isinstance(one, ServiceChild)]
    assert len(services) == 7
    for service in services:
        until(lambda service=service: asked(service.health_url) == 200)
        until(lambda service=service: asked(service.health_url.replace("healthz", "readyz")) == 200)


def test_a_second_stack_on_the_same_home_is_refused(stack: Stack, models_dir: Path) -> None:
    """The first stack keeps running."""
    with pytest.raises(PermanentError, match="already running"):
        Stack(stack.home.root, nats_port=0, query_port=0, models=models_dir).start()
    assert run(stack.home.root, "status")[0] == 0


SHOWN_UNDER_LOAD = [
    pytest.param(name, marks=pytest.mark.long) for name in ("ingest", "kg", "doc2query", "consolidation")
]
"""`tests/end_to_end/test_crash.py` kills them while there is work."""


@pytest.mark.parametrize("service", ["query", "nats", *SHOWN_UNDER_LOAD])
def test_a_crashed_process_comes_back_and_nothing_is_lost(stack: Stack, service: str) -> None:
    """An event that is published after the kill becomes recallable."""
    word = f"canary{service}"
    pid = stack.kill(service)
    until(lambda: all(child.ended() is None for child in stack.processes))
    assert pid not in {child.pid for child in stack.processes}
    stack.wait_ready(timeout_seconds=60)
    code, _, err = run(stack.home.root, "publish", "--text", f"The {word} sings.", "--wait")
    assert code == 0, err
    assert word in run(stack.home.root, "recall", f"what does {word} do?", "--never-skip")[1]
