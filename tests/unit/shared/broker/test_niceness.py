"""Workers run at lower CPU priority, including threads that engines started on import."""

import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import os, threading
from pathlib import Path
from helix_shared.broker.worker.niceness import lower_process_priority
stop = threading.Event()
threading.Thread(target=stop.wait).start()
before = os.getpriority(os.PRIO_PROCESS, 0)
lower_process_priority({niceness})
after = {{os.getpriority(os.PRIO_PROCESS, int(task.name)) for task in Path("/proc/self/task").iterdir()}}
print(before, *after)
stop.set()
"""


@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="niceness is the process's elsewhere")
@pytest.mark.parametrize(("niceness", "wanted"), [(3, 3), (0, 0), (40, 19)])
def test_every_thread_has_lower_priority(niceness: int, wanted: int) -> None:
    """The niceness is at most 19."""
    code = CODE.format(niceness=niceness)
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    before, *after = map(int, said.split())
    assert after == [min(before + wanted, 19)]
