"""Processes collect no garbage while they start, and leave what exists then alone."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import gc
from helix_shared.machine.processes import pause_garbage_collection, resume_garbage_collection

class Cycle:
    def __init__(self): self.own = self
    def __del__(self): print("collected", self.name, flush=True)

def make(name):
    cycle = Cycle()
    cycle.name = name

pause_garbage_collection()
make("early")
assert not gc.isenabled()
resume_garbage_collection()
assert gc.isenabled() and gc.get_freeze_count() > 1000
make("late")
gc.collect()
make("last")
print("ends", flush=True)
"""


def test_what_exists_after_the_start_is_not_collected() -> None:
    """Garbage of later is; that of the end goes with the process."""
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["collected late", "ends"]
