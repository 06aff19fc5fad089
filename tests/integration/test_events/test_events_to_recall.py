"""From event to recall through all processes: owners of memories, and what a correction keeps."""

from typing import Any, Final

import pytest
from google.protobuf import json_format

from helix_shared.identity import memory_id

from .running import Helix

pytestmark = pytest.mark.integration

UNKNOWN: Final = memory_id("acme", "never published", 0)
SECRETS: Final = ("93,000", "quokka", "axolotl", "Whistleblower")
"""Words that only Ann's events contain."""


def test_nothing_of_a_private_turn_returns_to_another_user(helix: Helix) -> None:
    """Ann and Bob talk in one session; Ann's turns carry an access list or her name alone."""
    ann: dict[str, Any] = {"session_id": "standup", "user_id": "ann", "role": "user", "speaker": "Ann"}
    bob: dict[str, Any] = {"session_id": "standup", "user_id": "bob", "role": "user", "speaker": "Bob"}
    helix.publish("message", text="My salary is 93,000 and I am ill, what do you think?", acl=["hr"], **ann)
    helix.publish("message", text="No idea honestly", **bob)
    helix.publish("message", text="Who else in Whistleblower Group knows about the quokka?", **ann)
    helix.publish("message", text="Everybody in the canteen", shared=True, **bob)
    helix.publish("tool", tool="bash", command="make lunch", output="done", session_id="standup")
    helix.publish("session", phase="ended", session_id="standup")
    helix.publish("memory", text="The passphrase of the guest network is axolotl today.", user_id="ann")
    last = helix.publish("memory", text="The passphrase of the guest network is posted downstairs today.")
    helix.settle(last)
    questions = ["what is the salary?", "who knows about the animal?", "no idea", "make lunch", "passphrase"]
    for user in ("bob", "", "eve"):
        replies = [helix.recall(question, user=user) for question in questions]
        assert any(reply.memories for reply in replies)
        said = "\n".join(json_format.MessageToJson(reply, ensure_ascii=False) for reply in replies)
        assert [secret for secret in SECRETS if secret in said] == [], user
    own = [helix.recall(question, user="ann", principals=["hr"]) for question in questions]
    said = "\n".join(json_format.MessageToJson(reply, ensure_ascii=False) for reply in own)
    assert [secret for secret in SECRETS if secret not in said] == []
    texts = {found.memory.text for found in helix.recall("no idea", user="bob").memories}
    assert "No idea honestly" in texts


def test_an_answer_is_recalled_once_with_its_question_and_forgotten_whole(helix: Helix) -> None:
    """The verbatim turn and the statement beside it come as one; forgetting one of them hides both."""
    turn = {"session_id": "kitchen", "user_id": "cyn"}
    asked = "Which oil shall we put on the worktop?"
    helix.publish("message", role="assistant", text=asked, **turn)
    helix.publish("message", role="user", text="linseed", **turn)
    helix.settle(helix.publish("message", role="assistant", text="Noted.", **turn))
    found = [one.memory for one in helix.recall("oil for the worktop", user="cyn").memories]
    answers = [memory for memory in found if "linseed" in memory.text]
    assert [memory.text for memory in answers] == [f"{asked} linseed"]
    question, answer = (memory_id("acme", f"p{helix.published - back}", 0) for back in (2, 1))
    assert (answers[0].answers, answers[0].derived_from) == (question, answer)
    assert answers[0].source_class == "user"
    forget = {"memory_ids": [answers[0].memory_id], "user_id": "cyn"}
    helix.settle(helix.publish("forget", **forget))
    texts = [one.memory.text for one in helix.recall("oil for the worktop", user="cyn").memories]
    assert not [text for text in texts if "linseed" in text]


def test_a_correction_keeps_what_it_does_not_mention(helix: Helix) -> None:
    """Ann corrects the text alone, then the tags alone; her memory stays hers, pinned, of its project."""
    given = {
        "user_id": "ann",
        "project_id": "harbour",
        "tags": ["ships", "fleet"],
        "type": "decision",
        "title": "Flagship",
        "salience": 0.75,
        "pinned": True,
        "priority": 1.5,
        "valid_to": "2999-01-01T00:00:00Z",
    }
    helix.settle(helix.publish("memory", text="The flagship is the Aurora.", **given))

    def flagship(user: str) -> Any:
        found = helix.recall("which vessel is the flagship?", user=user).memories
        return next((one.memory for one in found if "flagship" in one.memory.text), None)

    first = flagship("ann")
    text = "The flagship is the Boreas."
    helix.settle(helix.publish("correct", memory_id=first.memory_id, text=text, user_id="ann"))
    second = flagship("ann")
    assert (second.text, second.memory_id != first.memory_id) == (text, True)
    plain = ("user_id", "project_id", "type", "title", "salience", "pinned", "priority", "valid_to")
    kept = (*plain, "categories")
    assert [getattr(second, name) for name in kept] == [getattr(first, name) for name in kept]
    assert first.categories == ["ships", "fleet"]
    assert flagship("bob") is None
    helix.settle(
        helix.publish("correct", memory_id=second.memory_id, text=text, user_id="ann", tags=[], pinned=False)
    )
    third = flagship("ann")
    assert (list(third.categories), third.pinned, third.project_id) == ([], False, "harbour")


def test_a_correction_of_nothing_makes_no_memory_and_says_why(helix: Helix) -> None:
    """Ingest refuses a malformed id, consolidation an unknown one; both reasons name the field."""
    text = "The zeppelin hangs in hangar nine."
    before = len(helix.dead_letters())
    helix.publish_unchecked("correct", memory_id="m", text=text)
    helix.settle(helix.publish("correct", memory_id=UNKNOWN, text=text))
    reasons = {service: reason for service, _, reason in helix.dead_letters()[before:]}
    assert set(reasons) == {"ingest", "consolidation"}
    assert reasons["ingest"].startswith("memory_id: ")
    assert "32 hexadecimal digits" in reasons["ingest"]
    assert reasons["consolidation"].startswith("memory_id: ")
    assert UNKNOWN in reasons["consolidation"]
    found = helix.recall("where is the zeppelin?", user="").memories
    assert not [one for one in found if "zeppelin" in one.memory.text]


def test_a_refused_event_is_one_dead_letter_with_the_field_that_is_wrong(helix: Helix) -> None:
    """Ingest and consolidation both get a forget, an erase and a feedback; consolidation refuses them."""
    before = len(helix.dead_letters())
    for kind, fields in (
        ("forget", {"memory_id": UNKNOWN}),
        ("erase", {"memory_ids": ["short"]}),
        ("feedback", {"helpfull": [UNKNOWN]}),
        ("forget", {"tenant_id": "other", "memory_ids": [UNKNOWN]}),
        ("message", {"role": "user", "txt": "misspelt"}),
    ):
        helix.publish_unchecked(kind, **fields)
    helix.settle(helix.publish("message", role="user", text="The lighthouse is painted in March."))
    refused = [
        (service, subject.rpartition(".")[2], reason.partition(": ")[0])
        for service, subject, reason in helix.dead_letters()[before:]
    ]
    assert sorted(refused) == [
        ("consolidation", "erase", "memory_ids.0"),
        ("consolidation", "feedback", "helpfull"),
        ("consolidation", "forget", "memory_id"),
        ("consolidation", "forget", "tenant_id"),
        ("ingest", "message", "txt"),
    ]
