"""What workers import: FastStream without an HTTP server, and events only where they read some."""

import subprocess
import sys

import pytest

from helix_shared.broker.worker.engine import HTTP_SERVER

IMPORTED = f"""
import sys
{{statement}}
print("{HTTP_SERVER}" in sys.modules, "helix_memory.events" in sys.modules)
import {HTTP_SERVER}
print(callable({HTTP_SERVER}.run))
"""


@pytest.mark.parametrize(
    ("statement", "is_loaded"),
    [
        ("import helix_doc2query.app, helix_kg.app, helix_consolidation.forwarder.app", "False"),
        ("import faststream.nats", "True"),
    ],
)
def test_workers_that_read_no_events_start_without_what_they_do_not_use(
    statement: str, is_loaded: str
) -> None:
    """The second case is the control: FastStream alone loads the server. Both leave it importable."""
    command = [sys.executable, "-c", IMPORTED.replace("{statement}", statement)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [is_loaded, "False", "True"]
