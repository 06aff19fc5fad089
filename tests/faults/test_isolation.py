"""5,000 random sequences of calls over 50 tenants with hostile names, with and without authentication."""

from pathlib import Path

import pytest

from helix_shared.rpc.access.credential import Credential
from tests.integration.test_query.isolation.operations import Calls
from tests.integration.test_query.isolation.world import served

from .conftest import Report

pytestmark = [pytest.mark.integration, pytest.mark.faults]

SEQUENCES, LENGTH = 5_000, 4


@pytest.mark.timeout(3_600)
def test_five_thousand_sequences_show_nothing_foreign(
    tmp_path: Path, models_dir: Path, monkeypatch: pytest.MonkeyPatch, report: Report
) -> None:
    """In answers, errors and explanations; with tokens and false scopes, and without."""
    sequences = report.scaled(SEQUENCES, least=60)
    with served(tmp_path, models_dir) as (world, unsecured, secured):
        for with_tokens, service in ((False, unsecured), (True, secured)):
            calls = Calls(world, service.stub, seed=report.seed, with_tokens=with_tokens)
            for _ in range(sequences):
                calls.sequence(LENGTH)
            kind = "with" if with_tokens else "without"
            report.counts |= {
                f"calls {kind} tokens": calls.calls,
                f"denied {kind} tokens": calls.denied,
                f"own marks and ids seen {kind} tokens": calls.seen,
                f"foreign {kind} tokens": len(calls.foreign),
            }
            assert calls.foreign == []
            assert calls.seen > sequences
        report.figure = "0 foreign"
        with monkeypatch.context() as without_bound:
            without_bound.setattr(Credential, "bound", lambda *_: None)
            calls = Calls(world, secured.stub, seed=report.seed, with_tokens=True)
            for _ in range(60):
                calls.sequence(LENGTH)
        report.control(bool(calls.foreign), "a credential that bounds nothing shows what is foreign")
