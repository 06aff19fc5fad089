"""5,000 random sequences of calls over 50 tenants with hostile names, with and without authentication."""

from pathlib import Path

import pytest

from tests.integration.test_query.isolation.operations import Calls
from tests.integration.test_query.isolation.world import served

pytestmark = [pytest.mark.integration, pytest.mark.faults]

SEQUENCES, LENGTH = 5_000, 4


@pytest.mark.timeout(3_600)
def test_five_thousand_sequences_show_nothing_foreign(tmp_path: Path, models_dir: Path) -> None:
    """In answers, errors and explanations; with tokens and false scopes, and without."""
    with served(tmp_path, models_dir) as (world, unsecured, secured):
        for with_tokens, service in ((False, unsecured), (True, secured)):
            calls = Calls(world, service.stub, seed=2026, with_tokens=with_tokens)
            for _ in range(SEQUENCES):
                calls.sequence(LENGTH)
            print(  # noqa: T201  the figures of the run
                f"tokens={with_tokens}: {calls.calls} calls, {calls.replies} replies, {calls.denied} denied, "
                f"{calls.seen} own marks and ids seen, {len(calls.foreign)} foreign"
            )
            assert calls.foreign == []
            assert calls.seen > SEQUENCES
