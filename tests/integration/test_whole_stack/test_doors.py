"""Importing files of every kind, what `--wait` says of refused events, and hooks, with all processes."""

import json
import os
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from helix_cli.home.folder import HomeFolder
from helix_cli.home.record import read_record
from helix_gateway.hooks.injecting import TOKENS
from helix_memory.transport.polling import poll
from helix_shared.encoders.store import MINILM
from helix_shared.encoders.tokens import TextTokens
from tests.end_to_end.gateway_calls import asked, called, over_stdio
from tests.integration.test_cli.running import run
from tests.unit.ingest.documents.conftest import make_pdf

pytestmark = pytest.mark.integration

UNKNOWN = "f" * 32
NOWHERE = "could recall before it"


def best(home: Path, question: str, *options: str) -> dict[str, Any]:
    """The first memory of a recall; empty if there is none."""
    code, out, err = run(home, "recall", question, "--json", *options)
    assert code == 0, err
    found = json.loads(out)["memories"]
    return dict(found[0]["memory"]) if found else {}


def test_a_folder_of_files_is_recalled_replaced_and_deleted(home: Path, tmp_path: Path) -> None:
    """HTML, PDF and code; a broken PDF file is named, and the others are published."""
    folder = tmp_path / "shop"
    folder.mkdir()
    page = "<title>Shop</title><h1>Opening hours</h1><p>The workshop opens at {} on Saturdays.</p>"
    (folder / "hours.html").write_text(page.format("nine"))
    (folder / "price.pdf").write_bytes(make_pdf("Oak table\nThe oak table costs 640 euros."))
    (folder / "torn.pdf").write_bytes(b"%PDF-1.4 torn")
    (folder / "glue.py").write_text(
        'def glue_time(wood):\n    """Minutes until the glue is dry."""\n    return 40\n'
    )
    code, out, err = run(home, "import", str(folder), "--wait")
    assert (code, "published 3, duplicates 0, refused 1" in out) == (1, True), out + err
    assert f"refused {folder}/torn.pdf: file: is no PDF file that can be read" in err
    assert "document shop/price.pdf" in out
    assert "640 euros" in best(home, "what does the oak table cost?")["text"]
    assert best(home, "how long until the glue is dry?")["type"] == "code"
    assert "opens at nine" in best(home, "when does the workshop open?")["text"]

    code, out, err = run(home, "recall", "what does the oak table cost?", "--packed", "--budget", "5")
    assert (code, out.strip(), "no memory fits the token budget" in err) == (0, "", True), out + err
    two = run(home, "recall", "what does the oak table cost?", "how long until the glue is dry?", "--packed")[
        1
    ]
    table, _, glue = two.partition("\n\nhow long until the glue is dry?\n")
    assert table.startswith("what does the oak table cost?\n[1] ")
    assert glue.startswith("[1] ")

    (folder / "hours.html").write_text(page.format("ten"))
    alone = ("import", str(folder / "hours.html"), "--root", str(folder), "--wait")
    assert run(home, *alone)[0] == 0
    assert "opens at ten" in best(home, "when does the workshop open?")["text"]

    delete = ("publish", "--kind", "document", "--set", "deleted=true", "--wait", "--set")
    code, _, err = run(home, *delete, "document_id=shop/prices.pdf")
    assert (code, "document_id: names nothing" in err) == (1, True), err
    assert run(home, *delete, "document_id=shop/price.pdf")[0] == 0
    assert "640" not in best(home, "what does the oak table cost?").get("text", "")

    again = ("import", str(folder / "price.pdf"), "--root", str(folder), "--wait")
    code, out, err = run(home, *again)
    assert (code, "duplicates 1" in out, "`touch` its file" in err) == (0, True, True), out + err
    later = (folder / "price.pdf").stat().st_mtime + 5
    os.utime(folder / "price.pdf", (later, later))
    code, out, err = run(home, *again)
    assert (code, "published 1" in out, "touch" in err) == (0, True, False), out + err
    assert "640 euros" in best(home, "what does the oak table cost?")["text"]


EXPORTS = Path(__file__).parents[3] / "docs/examples/exports"


def test_a_fact_of_each_memory_system_is_recalled(home: Path) -> None:
    """What was archived, invalidated or has ended is not recalled, and importing again adds nothing."""
    moving = ("import", *map(str, sorted(EXPORTS.iterdir())), "--tenant", "movers", "--json")
    code, out, err = run(home, *moving, "--wait")
    assert code == 0, out + err
    counts = json.loads(out)["counts"]
    assert counts == {
        "memory events": 14,
        "message events": 1,
        "correct events": 2,
        "forget events": 2,
        "left out: notes without text beside their observations and relations": 1,
    }
    asked = {
        "what does Ines play?": "oboe",
        "where does Ines work?": "boatyard in Aveiro",
        "where does Bernadette rent a studio?": "Trieste",
        "where does Oluwaseun measure glaciers?": "Bergen",
        "what does Kazimir repair?": "Kazimir: repairs harpsichords",
        "at how many degrees is the kiln fired?": "Kiln: it is fired at 1240 degrees",
    }
    scope = ("--tenant", "movers", "--user", "ines")
    for question, answer in asked.items():
        assert answer in best(home, question, *scope)["text"], question
    listed = run(home, "memory", "ls", *scope, "--json")[1]
    hidden = {word: word in listed for word in ("tortoise", "Tromso", "Zagreb", "bakery", "harpsichords")}
    assert [word for word, shown in hidden.items() if shown] == ["harpsichords"]
    again = json.loads(run(home, *moving)[1])
    assert (again["published"], again["duplicates"]) == (0, 19)


def test_waiting_tells_what_became_of_an_event(home: Path) -> None:
    """Refused by consolidation in two ways, or carried out; a program gets the reason as JSON."""
    said = ("publish", "--session", "s", "--text", "The harp is in room 12.", "--user", "ana", "--wait")
    assert run(home, *said)[0] == 0
    harp = best(home, "where is the harp?", "--user", "ana")["memory_id"]
    correct = ("publish", "--kind", "correct", "--text", "The harp is in room 14.", "--wait")
    acts = (
        ("memory", "undo", UNKNOWN, "--wait"),
        ("memory", "undo", harp, "--user", "bob", "--wait"),
        ("publish", "--kind", "forget", "--set", f'memory_ids=["{UNKNOWN}"]', "--wait"),
        (*correct, "--set", f"memory_id={harp}", "--user", "bob"),
    )
    for refused in (*acts, ("memory", "correct", harp, "The harp is gone.", "--user", "bob")):
        code, out, err = run(home, *refused)
        assert (code, NOWHERE in err, "recallable" in out) == (1, True, False), out + err
    hidden = ("publish", "--kind", "forget", "--set", "of_session=nowhere", "--wait")
    code, out, err = run(home, *hidden)
    assert (code, "applied in generation" in out, "recallable" in out) == (0, True, False), out + err
    code, out, _ = run(home, "memory", "undo", UNKNOWN, "--wait", "--json")
    (refusal,) = json.loads(out)["refused"]
    assert (code, refusal["field"], NOWHERE in refusal["reason"]) == (1, "memory_id", True)
    code, out, err = run(home, "memory", "undo", harp)
    assert (code, "it has no relation that counts" in err, out) == (4, True, ""), out + err
    assert run(home, *correct, "--set", f"memory_id={harp}")[0] == 0
    assert "room 14" in best(home, "where is the harp?", "--user", "ana")["text"]
    code, _, err = run(home, "why-not", harp, "where is the harp?")
    assert (code, "without --user" in err) == (1, True), err


def test_what_was_forgotten_says_so_and_comes_back(home: Path) -> None:
    """By the first digits of its id; `why-not` tells when, and by which event."""
    text = "The spare key of the chapel hangs behind the organ."
    assert run(home, "publish", "--session", "k", "--text", text, "--user", "eva", "--wait")[0] == 0
    asked, eva = "where does the spare key of the chapel hang?", ("--user", "eva")
    key = best(home, asked, *eva)["memory_id"]
    assert run(home, "memory", "forget", key[:8], "--wait")[0] != 0
    assert run(home, "memory", "forget", key[:8], *eva, "--wait")[0] == 0
    assert "organ" not in run(home, "recall", asked, *eva)[1]
    assert "organ" not in run(home, "recall", "where did the spare key of the chapel hang before?", *eva)[1]
    code, out, err = run(home, "why-not", key[:8], asked, *eva)
    assert (code, "It was forgotten on" in out, "by the event with sequence" in out) == (0, True, True), err
    assert f"helix memory restore {key}" in " ".join(out.split())
    assert run(home, "why-not", key, asked, "--user", "bob")[0] == 1
    code, _, err = run(home, "memory", "forget", key[:8], *eva)
    assert (code, "it is forgotten already, by the event with sequence" in err) == (4, True), err
    assert run(home, "memory", "restore", key[:8], *eva, "--wait")[0] == 0
    code, _, err = run(home, "memory", "restore", key[:8], *eva)
    assert (code, "it was not forgotten" in err) == (4, True), err
    assert best(home, asked, *eva)["memory_id"] == key
    code, _, err = run(home, "memory", "undo", key[:8], "--other", UNKNOWN, *eva, "--wait")
    assert (code, NOWHERE in err) == (1, True), err


def test_a_memory_is_corrected_pinned_and_taken_back(home: Path) -> None:
    """By the id of its first version all along; what no event names stays."""
    said = ("publish", "--kind", "memory", "--type", "decision", "--title", "Bakery", "--user", "eva")
    day = ("--time", "2026-03-02T08:00:00Z")
    assert run(home, *said, *day, "--text", "The bakery opens at six.", "--wait")[0] == 0
    asked, eva = ("when does the bakery open?", "--user", "eva"), ("--user", "eva")
    first = best(home, *asked)["memory_id"]
    for change in (("correct", first, "The bakery opens at seven."), ("pin", first)):
        code, out, err = run(home, "memory", *change, *eva)
        assert (code, f"{first[:8]}: " in out, "the new version is" in out) == (0, True, True), out + err
    found = best(home, *asked)
    assert [found[name] for name in ("text", "title", "type", "user_id", "pinned")] == [
        "The bakery opens at seven.",
        "Bakery",
        "decision",
        "eva",
        True,
    ]
    for again in (("correct", first, "The bakery opens at seven."), ("pin", found["memory_id"])):
        code, out, err = run(home, "memory", *again, *eva)
        assert (code, "already" in err, out) == (4, True, ""), out + err
    pinned_at = found["occurred_at"]
    code, out, err = run(home, "memory", "unpin", first, *eva, "--json")
    assert best(home, *asked)["occurred_at"] == pinned_at
    version = json.loads(out)["changed"][first]
    assert (code, best(home, *asked)["memory_id"]) == (0, version), err
    assert not best(home, *asked).get("pinned")
    code, out, err = run(home, "memory", "undo", first, *eva)
    assert (code, out.count("CORRECTS")) == (0, 3), out + err
    assert best(home, *asked)["text"] == "The bakery opens at six."


async def test_every_door_tells_when_a_memory_expires_and_how_sure_its_date_is(home: Path) -> None:
    """A date without a year is guessed; an explicit memory is an agent's."""
    said = ("publish", "--kind", "memory", "--set", "expires_at=2031-05-01T00:00:00Z", "--user", "dora")
    assert run(home, *said, "--text", "Dentist on 2 April.", "--wait")[0] == 0
    found = best(home, "when is the dentist?", "--user", "dora")
    assert (found["expires_at"], found["event_guessed"]) == ("2031-05-01T00:00:00Z", True)
    out = run(home, "memory", "show", found["memory_id"], "--user", "dora", "--tz", "UTC")[1]
    assert "2031-05-01 00:00" in out
    record = read_record(HomeFolder.at(home))
    assert record is not None
    url = f"{record.gateway_url}/v1/memories/{found['memory_id']}"
    over_rest = asked(url, helix_tenant="acme", helix_user="dora").body
    assert over_rest["expires_at"].startswith("2031-05-01T00:00:00")
    assert (over_rest["event_guessed"], over_rest["source_class"]) == (True, "agent")
    async with over_stdio("--home", str(home), "--tenant", "acme", "--user", "dora") as agent:
        (told,) = (await called(agent, "get", ids=[found["memory_id"]]))["memories"]
    assert (told["event_guessed"], told["source_class"]) == (True, "agent")
    assert told["event_start"] < told["event_end"]


def test_a_dated_conversation_is_replayed_and_asked_about_in_its_time(home: Path) -> None:
    """Stored today, so nothing was known then; the hint names the option that finds it."""
    turns = (("2026-03-02 18:30", "Ana", "We moved to Lisbon."), ("2026-03-09", "Luis", "I sold the boat."))
    for when, who, text in turns:
        said = ("publish", "--session", "trip", "--speaker", who, "--time", when, "--tz", "Europe/Lisbon")
        assert run(home, *said, "--text", text, "--wait")[0] == 0
    memory = best(home, "who sold the boat?")
    assert (memory["source"]["speaker"], memory["occurred_at"]) == ("Luis", "2026-03-09T00:00:00Z")
    code, out, err = run(home, "recall", "where do we live?", "--as-of", "2026-04-01")
    assert (code, "nothing found" in out, "--valid-at 2026-04-01" in err) == (0, True, True), out + err


def test_a_coding_agent_is_given_what_it_said_in_another_session(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As installed: a transcript is handed over, and a prompt of another session is given it, once."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CLAUDE_CONFIG_DIR", raising=False)
    code, out, err = run(home, "agent", "install", "claude-code", "--user", "ada")
    assert (code, "wrote" in out) == (0, True), out + err
    hooks = json.loads((tmp_path / ".claude" / "settings.json").read_text())["hooks"]

    def call(event: str, **fields: Any) -> str:
        """What the model is given by a hook, sent as the agent sends it."""
        body = {"hook_event_name": event, "cwd": str(tmp_path), **fields}
        [hook] = hooks[event][0]["hooks"]
        sent = json.dumps(body).encode()
        if hook["type"] == "command":
            done = subprocess.run(hook["command"], shell=True, input=sent, capture_output=True, check=True)  # noqa: S602
            reply = done.stdout
        else:
            headers = {"Content-Type": "application/json", **hook["headers"]}
            request = urllib.request.Request(hook["url"], sent, headers)  # noqa: S310
            with urllib.request.urlopen(request) as response:  # noqa: S310
                reply = response.read()
        return str(json.loads(reply or "{}").get("hookSpecificOutput", {}).get("additionalContext", ""))

    transcript = home / "transcripts" / "weather" / "s.jsonl"
    transcript.parent.mkdir(parents=True)
    said = "We decided that the rain gauge reports in millimetres.<private>The code is 4711.</private>"
    line = {
        "type": "user",
        "uuid": "w-1",
        "sessionId": "s",
        "cwd": "/src/weather",
        "message": {"content": said},
    }
    about = line | {"uuid": "w-2", "message": {"content": "I don't eat fish."}}
    transcript.write_text(f"{json.dumps(line)}\n{json.dumps(about)}\n")
    for _ in range(2):
        assert call("Stop", session_id="s", transcript_path=str(transcript)) == ""
    question = "in which unit does the rain gauge report?"
    # the last of the transcript: what stands before it is there as well
    for _ in poll(120.0):
        if "fish" in best(home, "what does the user not eat?", "--user", "ada").get("text", ""):
            break
    assert "millimetres" in best(home, question, "--user", "ada")["text"]

    def given(event: str, **fields: Any) -> tuple[str, str]:
        """What a session is given, and that session: of the first one that a busy machine answers in time."""
        for attempt, _ in enumerate(poll(60.0)):
            if text := call(event, session_id=f"{event}-{attempt}", **fields):
                return text, f"{event}-{attempt}"
        return "", ""

    text, session = given("UserPromptSubmit", prompt=question)
    assert ("millimetres" in text, "4711" in text) == (True, False), text
    for has_it in (session, "s"):
        assert "millimetres" not in call("UserPromptSubmit", prompt=question, session_id=has_it)
    at_start = given("SessionStart", source="startup", cwd="/src/weather")[0]
    assert "rain gauge" in at_start
    assert (at_start.count("About the user:"), "fish" in at_start) == (1, True), at_start
    code, out, err = run(home, "agent", "check", "claude-code", "--times", "2")
    assert (code, "the recall alone" in out) == (0, True), out + err
    # an id or a time may have the digits alone
    assert "The code is" not in run(home, "memory", "ls", "--user", "ada", "--json")[1]
    assert run(home, "agent", "uninstall", "claude-code")[0] == 0
    assert not (tmp_path / ".claude" / "settings.json").exists()


def test_a_session_begins_within_its_tokens_in_any_script(home: Path, models_dir: Path) -> None:
    """By the count of the model: five decisions, one of them Chinese at its beginning only."""
    chinese = "我们决定天气站的雨量计以毫米为单位并且每小时发送一次数据给服务器"
    texts = [f"{number}号决定 {chinese * 7}"[:220] for number in range(1, 5)]
    texts.append(f"5号决定 {chinese * 4} " + "and the rain gauge stays on the roof of the hall" * 8)
    for text in texts:
        said = ("publish", "--kind", "memory", "--type", "decision", "--set", "project_id=station")
        assert run(home, *said, "--text", text, "--user", "lin", "--wait")[0] == 0
    record = read_record(HomeFolder.at(home))
    assert record is not None
    given = ""
    for attempt, _ in enumerate(poll(60.0)):
        body = {"hook_event_name": "SessionStart", "session_id": f"lin-{attempt}", "cwd": "/src/station"}
        url = f"{record.gateway_url}/hooks/claude-code"
        reply = asked(url, body, helix_tenant="acme", helix_user="lin").body
        if given := reply.get("hookSpecificOutput", {}).get("additionalContext", ""):
            break
    tokenizer = TextTokens.load(models_dir / MINILM / "tokenizer.json", max_tokens=256)
    assert [f"{number}号决定" in given for number in range(1, 6)] == [True] * 5, given
    assert 600 < tokenizer.count(given) <= TOKENS, given
