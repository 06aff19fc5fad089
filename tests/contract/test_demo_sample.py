import re
import subprocess
import sys
import tomllib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

from helix_memory import events, limits
from helix_memory.transport.publisher import HEADER_ALLOWANCE_BYTES

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "ops/demo"
QUESTIONS = tomllib.loads((DEMO / "questions.toml").read_text())["question"]
FUNCTION_WORDS = {
    "the", "is", "a", "an", "to", "for", "of", "in", "on", "and", "how", "what", "when", "where", "who",
    "which", "does", "did", "do", "was", "i", "be", "by",
}  # fmt: skip


def _sample() -> list[events.Event]:
    """The sample as the script prints it."""
    command = [sys.executable, DEMO / "sample.py"]
    printed = subprocess.run(command, capture_output=True, timeout=60, check=True).stdout
    return [events.parse_event(line) for line in printed.splitlines()]


SAMPLE = _sample()
BY_ID = {event.event_id: event for event in SAMPLE}


def _words(text: str) -> set[str]:
    """Content words, cut to five letters so that forms of one word are equal."""
    return {word[:5] for word in re.findall(r"[a-z]+", text.lower()) if word not in FUNCTION_WORDS}


def test_sample_has_the_promised_size_and_scope() -> None:
    """A few hundred events of one tenant, one project, one user."""
    assert 250 <= len(SAMPLE) <= 350
    assert {(e.tenant_id, e.project_id, e.user_id) for e in SAMPLE} == {("demo", "atlas", "mira")}
    assert set(Counter(e.kind for e in SAMPLE)) == {"message", "tool", "memory", "document", "session"}


def test_documents_name_the_true_number_of_events() -> None:
    """The figures of the documents match the sample."""
    for name in ("README.md", "CHANGELOG.md"):
        assert re.findall(r"(\d+) events", (ROOT / name).read_text()) == [str(len(SAMPLE))], name


def test_every_event_id_is_its_own_and_says_session_and_time() -> None:
    """Ids are stable, so publishing the sample twice changes nothing."""
    assert len(BY_ID) == len(SAMPLE)
    assert all(event.event_id.startswith(f"{event.session_id}-") for event in SAMPLE)
    assert [e.event_id for e in _sample()] == [e.event_id for e in SAMPLE]


def test_events_stand_in_the_order_in_which_they_happened() -> None:
    """The context of a turn is what came before it in the log."""
    times = [event.occurred_at for event in SAMPLE if event.occurred_at]
    assert len(times) == len(SAMPLE)
    assert times == sorted(times)
    assert times[0] >= datetime(2026, 9, 1, tzinfo=UTC)
    assert times[-1] <= datetime(2026, 11, 21, tzinfo=UTC)


def test_every_event_fits_the_stream() -> None:
    """Nothing of the sample is refused."""
    most = limits.EVENT_BYTES - HEADER_ALLOWANCE_BYTES
    assert max(len(events.encode_event(event)) for event in SAMPLE) < most


def test_the_eight_questions_ask_for_events_that_exist() -> None:
    """Seven have an answer in the sample, one needs none."""
    assert len(QUESTIONS) == 8
    assert [q["title"] for q in QUESTIONS if not q["expected"]] == ["needs no memory"]
    assert [e for q in QUESTIONS for e in q["expected"] if e not in BY_ID] == []


def test_the_paraphrase_shares_no_content_word_with_its_answer() -> None:
    """Only the dense channel can find it."""
    question = QUESTIONS[0]
    answer = BY_ID[question["expected"][0]]
    assert isinstance(answer, events.MessageEvent)
    assert _words(question["text"])
    assert _words(question["text"]) & _words(answer.text) == set()


def test_the_two_hop_question_needs_a_second_memory() -> None:
    """The answer does not name the subject of the question; another memory links the two."""
    answer = BY_ID[QUESTIONS[3]["expected"][0]]
    assert isinstance(answer, events.MessageEvent)
    assert "Tomasz Wieczorek" in answer.text
    assert "retry budget" not in answer.text
    joining = [e for e in SAMPLE if isinstance(e, events.MessageEvent) and "author of the retry" in e.text]
    assert len(joining) == 1
    assert "Tomasz Wieczorek" in joining[0].text
    assert "team" not in joining[0].text.lower()


def test_the_latest_decision_is_the_newest_of_several() -> None:
    """An older version would be a wrong answer."""
    title = "Token lifetime"
    versions = [e for e in SAMPLE if isinstance(e, events.MemoryEvent) and e.title == title]
    assert len(versions) == 3
    assert [versions[-1].event_id] == QUESTIONS[4]["expected"]


def test_half_the_address_of_a_running_stack_starts_no_other_one() -> None:
    """It is refused, and both options are named."""
    command = [sys.executable, DEMO / "run.py", "--query", "127.0.0.1:1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert "--nats and --query" in done.stderr
