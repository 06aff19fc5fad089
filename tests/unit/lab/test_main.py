import os
import subprocess
import sys

from helix_shared.machine.processes import SINGLE_THREADED

PROGRAM = """
import ctypes
import sys

from helix_lab.__main__ import main

sys.argv = ["helix-lab", "--help"]
try:
    main()
except SystemExit:
    pass
with open("/proc/self/maps") as maps:
    blas = next(line.split()[-1] for line in maps if "numpy.libs/libscipy_openblas" in line)
print("threads", ctypes.CDLL(blas).scipy_openblas_get_num_threads64_())
"""


def test_the_lab_computes_with_the_threads_of_a_service() -> None:
    """One, also on a machine of many cores: BLAS reads the environment when numpy is imported."""
    environment = {name: value for name, value in os.environ.items() if name not in SINGLE_THREADED}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    assert "threads 1" in done.stdout.splitlines()
