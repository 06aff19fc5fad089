"""Audit records of the query service: who, what, which outcome; and what becomes of them."""

import asyncio
from contextvars import copy_context
from types import SimpleNamespace
from typing import Any

import pytest

from helix_cli.security.permissions import SERVICE_USERS, rights_of_service, rights_of_tenant
from helix_memory import subjects
from helix_memory.recall.v1 import recall_pb2
from helix_query.accesses.audit import AuditLog
from helix_query.accesses.audited import audited
from helix_query.accesses.ring import AccessRing
from helix_shared.errors import DeniedError, InvalidInputError, UnauthenticatedError
from helix_shared.rpc.access import admission
from helix_shared.rpc.access.credential import ERASE, RECALL, WRITE, Credential
from helix_shared.telemetry.metrics import AUDIT_RECORDS

ANN = Credential("key-ann", frozenset({"acme"}), "ann", None, frozenset({RECALL}))
ANYBODY = Credential("key-any", frozenset({"acme"}), None, None, frozenset({RECALL}))
FOUND = recall_pb2.RecallResponse(
    generation=7,
    memories=[recall_pb2.RecalledMemory(memory=recall_pb2.Memory(memory_id="a" * 32, text="tarngloop"))],
)
CONTEXT: Any = SimpleNamespace(peer=lambda: "ipv4:192.0.2.1:5")


def request(tenant: str = "acme") -> recall_pb2.RecallRequest:
    """A recall of bob's."""
    scope = recall_pb2.Scope(tenant_id=tenant, user_id="bob")
    return recall_pb2.RecallRequest(scope=scope, query="which tarngloop?")


def recorded(
    outcome: Any, credential: Credential | None = None, *, tenant: str = "acme", capacity: int = 9
) -> Any:
    """The record of one recall that gives or raises `outcome`."""
    ring = AccessRing(9, capacity)

    async def call(_request: Any, _context: Any) -> Any:
        admission._CREDENTIAL.set(credential)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def run() -> None:
        try:
            assert await audited(ring.audits, "Recall", call)(request(tenant), CONTEXT) is outcome
        except type(outcome) as error:
            assert error is outcome  # noqa: PT017  the same error must come through

    copy_context().run(asyncio.run, run())
    return ring.audits.take()


def test_a_record_has_who_ids_and_counts_and_no_text() -> None:
    """The user is that of the credential, whatever the request says."""
    [record] = recorded(FOUND, ANN)
    assert (record.call, record.outcome, record.generation) == ("Recall", "OK", 7)
    assert (record.tenant_id, record.credential, record.user_id) == ("acme", "key-ann", "ann")
    assert (list(record.roles), record.address) == (["recall"], "ipv4:192.0.2.1:5")
    assert (list(record.memory_ids), record.count) == (["a" * 32], 1)
    assert b"tarngloop" not in record.SerializeToString()


def test_refused_callers_push_out_no_record_of_others() -> None:
    """A hundred of theirs are kept at once, then ten a second; more are counted."""
    now = [0.0]
    log = AuditLog(1_000, lambda: None, clock=lambda: now[0])
    log.add(recall_pb2.AuditRecord(call="Recall", outcome="OK"))
    before = AUDIT_RECORDS.labels("limited")._value.get()
    for _ in range(5_000):
        log.add(recall_pb2.AuditRecord(call="Recall", outcome="UNAUTHENTICATED"))
    assert len(log) == 1 + 100
    assert AUDIT_RECORDS.labels("limited")._value.get() - before == 4_900
    now[0] = 1.0
    for _ in range(50):
        log.add(recall_pb2.AuditRecord(call="Recall", outcome="PERMISSION_DENIED"))
    log.add(recall_pb2.AuditRecord(call="Recall", outcome="OK"))
    assert len(log) == 1 + 100 + 10 + 1
    assert log.take()[0].outcome == "OK"


A, B, C, D = ("abcd"[n] * 32 for n in range(4))
PROFILE = recall_pb2.Profile(lines=[recall_pb2.ProfileLine(memory_ids=[C, D]), {"memory_ids": [C]}])
MEMORIES = [recall_pb2.Memory(memory_id=one) for one in (A, B)]
RECALLED = recall_pb2.RecallResponse(
    memories=[recall_pb2.RecalledMemory(memory=MEMORIES[0])],
    context=recall_pb2.PackedContext(memory_ids=[A], surrounding_ids=[B]),
    profile=PROFILE,
)


@pytest.mark.parametrize(
    ("reply", "shown"),
    [
        (RECALLED, [A, B, C, D]),
        (recall_pb2.BatchRecallResponse(results=[{"response": RECALLED}, {"response": FOUND}]), [A, B, C, D]),
        (recall_pb2.PackResponse(memory_ids=[A], context={"surrounding_ids": [B]}), [A, B]),
        (recall_pb2.RecallResponse(explanation={"candidates": [{"memory_id": B, "excerpt": "tea"}]}), [B]),
        (recall_pb2.GetProfileResponse(profile=PROFILE), [C, D]),
        (recall_pb2.GetHistoryResponse(memories=MEMORIES), [A, B]),
        (recall_pb2.ListMemoriesResponse(memories=MEMORIES), [A, B]),
        (recall_pb2.TimelineResponse(memories=MEMORIES), [A, B]),
        (recall_pb2.NeighboursResponse(nodes=[{"memory": MEMORIES[0]}, {"entity": "tarngloop"}]), [A]),
        (recall_pb2.FindIdsResponse(memory_ids=[A, B]), [A, B]),
        (recall_pb2.FindIdsResponse(memory_ids=[A], more=[{"memory_ids": [B, C]}, {}]), [A, B, C]),
        (recall_pb2.ListEntitiesResponse(), []),
    ],
)
def test_a_record_names_every_memory_of_which_the_reply_shows_a_text(reply: Any, shown: list[str]) -> None:
    """Also those around a memory that was found, and those of a profile."""
    [record] = recorded(reply, ANN)
    assert (list(record.memory_ids), record.count) == (shown, len(shown))


@pytest.mark.parametrize(
    ("error", "credential", "tenant", "filed"),
    [
        (UnauthenticatedError("no"), None, "acme", ("UNAUTHENTICATED", "", "acme", "")),
        (DeniedError("no"), ANN, "other", ("PERMISSION_DENIED", "acme", "other", "ann")),
        (DeniedError("no"), ANYBODY, "other", ("PERMISSION_DENIED", "acme", "other", "")),
        (InvalidInputError("query", "tarngloop"), None, "tarn gloop", ("INVALID_ARGUMENT", "", "", "bob")),
    ],
)
def test_a_refusal_is_recorded_for_no_tenant_and_user_that_was_not_proven(
    error: Exception, credential: Credential | None, tenant: str, filed: tuple[str, str, str, str]
) -> None:
    """Nobody fills the records of a foreign tenant; the tenant that was asked for stands beside."""
    [record] = recorded(error, credential, tenant=tenant)
    assert (record.outcome, record.tenant_id, record.requested_tenant_id, record.user_id) == filed
    assert record.count == 0
    assert b"tarn" not in record.SerializeToString()


def test_a_record_that_cannot_be_made_fails_no_call() -> None:
    """It is counted; with no room at all, nothing is made."""
    before = AUDIT_RECORDS.labels("failed")._value.get()
    assert recorded(SimpleNamespace(generation="seven"), None) == []
    assert AUDIT_RECORDS.labels("failed")._value.get() == before + 1
    assert recorded(FOUND, capacity=0) == []


def test_the_oldest_record_is_dropped_and_counted_where_there_is_no_room() -> None:
    """A flood of calls costs memory up to the limit."""
    audits = AccessRing(9, 2).audits
    before = AUDIT_RECORDS.labels("dropped")._value.get()
    for _ in range(3):
        audits.add(recall_pb2.AuditRecord(call="Recall"))
    assert AUDIT_RECORDS.labels("dropped")._value.get() == before + 1
    assert [record.number for record in audits.take()] == [2, 3]


def test_no_tenant_writes_the_audit_stream() -> None:
    """Its own records would prove nothing; the writer adds those of erasures."""

    def writers(subject: str) -> list[str]:
        return [user for user in SERVICE_USERS if subject in rights_of_service(user).publish]

    assert writers(subjects.audit_subject("*")) == ["consolidation"]
    assert writers(subjects.calls_subject("*")) == ["forwarder"]
    tenant = " ".join(rights_of_tenant("acme", [WRITE, ERASE]).publish)
    assert "audit" not in tenant
    assert "calls" not in tenant
