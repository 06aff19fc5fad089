"""The limit of open files: a query service raises it to what the machine allows."""

import resource
import subprocess
import sys

RAISED = """
import resource
from helix_shared.machine.processes import allow_open_files
print(allow_open_files(), resource.getrlimit(resource.RLIMIT_NOFILE)[0])
"""


def test_the_soft_limit_becomes_the_hard_one() -> None:
    """As in a shell with the usual 1,024, or fewer."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def lower() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))

    raised = subprocess.run([sys.executable, "-c", RAISED], check=True, stdout=-1, preexec_fn=lower)
    assert raised.stdout.split() == [str(hard).encode()] * 2
