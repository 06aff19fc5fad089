"""The prober answers one line for each generation, whatever the engines print."""

import json
import subprocess
import sys

PRINTING = """
import os, sys
from types import SimpleNamespace
from helix_query.generations import probe_process

def probe(root, number, previous, *, scratch):
    os.write(1, b"a native library says something\\n")
    print("so does Python")
    if number == 2:
        raise ValueError("damaged")
    return SimpleNamespace(close=lambda: None)

probe_process.probe = probe
probe_process.main()
"""


def test_what_an_engine_prints_is_no_answer() -> None:
    """Else it would be that of this generation, and the answer that of the next one."""
    asked = "".join(json.dumps({"root": "/data", "number": number}) + "\n" for number in (1, 2, 3))
    command = [sys.executable, "-c", PRINTING]
    found = subprocess.run(command, input=asked.encode(), capture_output=True, check=True)
    results = [json.loads(line)["problem"] for line in found.stdout.splitlines()]
    assert results == ["", "ValueError: damaged", ""]
    assert found.stderr.count(b"a native library says something") == 3
