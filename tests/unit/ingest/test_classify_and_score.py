"""Memory types and scores."""

import itertools
import zlib
from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pytest
from datasketch import MinHash

from helix_ingest.extraction.acts.speech_act import speech_act
from helix_ingest.extraction.classify import classify
from helix_ingest.extraction.score import confidence, event_times, salience, source_class
from helix_memory.events import DocumentEvent, MemoryEvent, MessageEvent, ToolEvent
from helix_shared.edges import MINHASH_BYTES, MINHASH_PERMUTATIONS
from helix_shared.encoders.minhash import minhash
from helix_shared.text.scripts import WORD

MONDAY = datetime(2026, 9, 7, 9, 0, tzinfo=UTC)


def said(text: str, *, role: str = "user", speaker: str = "") -> MessageEvent:
    """A turn of a conversation."""
    return MessageEvent.model_validate(
        {"event_id": "e", "tenant_id": "t", "role": role, "speaker": speaker, "text": text}
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("We decided to use NATS instead of RabbitMQ.", "decision"),
        ("Decision: tokens live 15 minutes.", "decision"),
        ("Let's go with option B", "decision"),
        ("How to rotate the key: open the vault.", "procedural"),
        ("1. stop it\n2. copy it\n3. start it", "procedural"),
        ("Traceback (most recent call last):\n  File x", "code"),
        ("psycopg.errors.UniqueViolation was raised: KeyError", "code"),
        ("I prefer tabs over spaces.", "semantic"),
        ("I went to the lake with my kids on Sunday.", "episodic"),
    ],
)
def test_type_follows_the_plainest_signal(text: str, expected: str) -> None:
    """The first matching rule decides."""
    assert classify(said(text), text) == expected


def test_given_type_wins() -> None:
    """A type given by the publisher is kept."""
    event = MemoryEvent(event_id="e", tenant_id="t", text="We decided X", type="semantic")
    assert classify(event, event.text) == "semantic"


def test_tool_is_code_and_document_is_semantic() -> None:
    """Without a matching rule the kind of event decides."""
    tool = ToolEvent(event_id="e", tenant_id="t", tool="bash", output="fine")
    document = DocumentEvent(event_id="e", tenant_id="t", document_id="d", body="The moon is round.")
    assert (classify(tool, "fine"), classify(document, document.body)) == ("code", "semantic")


def test_salience_adds_type_length_specifics_and_stress() -> None:
    """Worked by hand: episodic .1 + .25 x 8/40 + .25 x 1/6 + .15 = .3416."""
    text = "always keep the log below 80 percent full"
    assert salience(text, "episodic") == pytest.approx(0.1 + 0.25 * 8 / 40 + 0.25 / 6 + 0.15)


def test_an_acknowledgement_has_no_salience_and_a_question_two_thirds() -> None:
    """(.1 + .25 x 2/40) x 2/3."""
    assert salience("hello there", "episodic", "acknowledgement") == 0.0
    assert salience("anything else", "episodic", "question") == pytest.approx((0.1 + 0.25 * 2 / 40) * 2 / 3)


@pytest.mark.parametrize(
    "text",
    [
        "The figures are not confirmed.",
        "nobody verified the backup",
        "the leak isnt fixed",
        "It must be tested first.",
        "to be confirmed by Ines",
        "It hasn't really been tested.",
    ],
)
def test_a_negated_or_required_word_confirms_nothing(text: str) -> None:
    """Only an asserted word raises the confidence."""
    assert confidence(said(text), text) == pytest.approx(0.8)


@pytest.mark.parametrize(
    "text",
    ["We have not decided to use NATS.", "we never agreed on that", "Have we decided?", "if we decided so"],
)
def test_what_is_not_decided_is_no_decision(text: str) -> None:
    """Negation, a question and a condition decide nothing."""
    assert classify(said(text), text, speech_act(said(text), text)) != "decision"


def test_confidence_follows_source_confirmation_and_hedging() -> None:
    """User .8, agent .6 and in conversation .5, +.15 confirmed, -.25 hedged."""
    assert confidence(said("it is 5"), "it is 5") == pytest.approx(0.8)
    assert confidence(said("maybe 5"), "maybe 5") == pytest.approx(0.55)
    assert confidence(said("x", role="assistant"), "I verified it") == pytest.approx(0.65)
    kept = MemoryEvent(event_id="e", tenant_id="t", text="x")
    assert confidence(kept, "x") == pytest.approx(0.6)


def test_trust_is_the_origin_class() -> None:
    """The class of each kind of source."""
    assert source_class(said("x")) == "user"
    assert source_class(said("x", role="assistant")) == "agent"
    assert source_class(ToolEvent(event_id="e", tenant_id="t", tool="b", output="x")) == "tool"
    assert source_class(DocumentEvent(event_id="e", tenant_id="t", document_id="d", body="x")) == "document"


def test_relative_date_becomes_event_time() -> None:
    """Yesterday on 7 September 2026 is the 6th."""
    found = event_times(said("I saw it yesterday"), "I saw it yesterday", MONDAY)
    assert found == (datetime(2026, 9, 6, tzinfo=UTC), datetime(2026, 9, 7, tzinfo=UTC), False)


def test_an_unreadable_date_is_replaced_by_a_readable_one() -> None:
    """A weekday without a verb gives no time; the second sentence is in the past tense."""
    text = "Friday, maybe. The boiler broke on Saturday."
    found = event_times(said(text), text, MONDAY)
    assert found == (datetime(2026, 9, 5, tzinfo=UTC), datetime(2026, 9, 6, tzinfo=UTC), False)
    assert event_times(said("Friday."), "Friday.", MONDAY) == (None, None, False)


@pytest.mark.parametrize("text", ["created at 0001-01-01T00:00:00Z", "valid until 9999-12-31T23:00:00Z"])
def test_a_date_that_stands_for_none_is_no_event_time(text: str) -> None:
    """The zone of a caller cannot represent it: west of UTC, the first is before the calendar."""
    assert event_times(said(text), text, MONDAY) == (None, None, False)


def test_the_same_moment_in_two_zones_has_two_days() -> None:
    """At 23:30 in New York it is the next day in UTC: the cached times must differ."""
    text = "The pump broke today."
    here = datetime(2026, 9, 7, 23, 30, tzinfo=timezone(timedelta(hours=-4)))
    there = here.astimezone(UTC)
    days = [event_times(said(text), text, moment).start for moment in (here, there, here)]
    assert days == [datetime(2026, 9, 7, 4, tzinfo=UTC), datetime(2026, 9, 8, tzinfo=UTC), days[0]]


def test_given_event_time_wins() -> None:
    """Times given by the publisher are kept."""
    event = MemoryEvent(event_id="e", tenant_id="t", text="seen yesterday", event_start=MONDAY)
    assert event_times(event, event.text, MONDAY) == (MONDAY, None, False)


@pytest.mark.parametrize("text", ["", "...", "one", "Ship it on Friday", "我看过日程了", "a \ud800 b"])
def test_minhash_has_the_values_of_datasketch(text: str) -> None:
    """Consolidation takes the bands of its index from datasketch; stored signatures never change."""
    words = [word.lower() for word in WORD.findall(text)]
    expected = MinHash(num_perm=MINHASH_PERMUTATIONS, seed=1, hashfunc=zlib.crc32)
    for shingle in [*words, *(f"{a} {b}" for a, b in itertools.pairwise(words))]:
        expected.update(shingle.encode("utf-8", "surrogatepass"))
    assert np.frombuffer(minhash(text), "<u4").tolist() == expected.hashvalues.tolist()


def test_minhash_estimates_jaccard() -> None:
    """Equal texts have equal signatures; with one word of twenty changed, most values agree."""
    base = (
        "the quick brown fox jumps over the lazy dog while seven wizards quietly box five dozen jugs of ale"
    )
    near = base.replace("ale", "rum")
    a, b, c = (np.frombuffer(minhash(text), "<u4") for text in (base, near, "nothing like it at all"))
    assert len(minhash(base)) == MINHASH_BYTES
    assert (a == np.frombuffer(minhash(base.upper()), "<u4")).all()
    assert 0.75 < (a == b).mean() < 1.0
    assert (a == c).mean() < 0.1


@pytest.mark.parametrize(
    "text",
    [
        "let me check",
        "class starts at 9 on mondays",
        "public transport is free on sundays here",
        "import duties on the bike were 45 euros",
        "flight BA2490 lands at 9",
        "Invoice R2031 is paid",
        "procedure on my knee is on Tuesday",
        "I know how to swim",
    ],
)
def test_words_that_also_begin_code_are_not_code(text: str) -> None:
    """Only the form of code is code, and only what tells how to do something is a procedure."""
    assert classify(MessageEvent(event_id="e", tenant_id="t", role="user", text=text), text) == "episodic"


@pytest.mark.parametrize(
    "text",
    [
        "let x = 4;",
        "const total: number = 1",
        "public static void main()",
        "import os",
        "class A(B):",
        "def f(x):",
    ],
)
def test_lines_of_code_are_code(text: str) -> None:
    """Of several languages."""
    assert classify(MessageEvent(event_id="e", tenant_id="t", role="user", text=text), text) == "code"
