"""Processes that embed let BLAS use one thread, unless the environment says otherwise."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from helix_shared.machine.processes import SINGLE_THREADED, use_one_blas_thread


def test_one_thread_is_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    """A number that the operator gave stays."""
    for variable in SINGLE_THREADED:
        monkeypatch.setenv(variable, "")
        monkeypatch.delenv(variable)
    monkeypatch.setenv(SINGLE_THREADED[0], "3")
    use_one_blas_thread()
    assert [os.environ[variable] for variable in SINGLE_THREADED] == ["3", "1", "1"]


@pytest.mark.parametrize("service", ["ingest", "extract", "query"])
def test_numpy_is_not_imported_before_the_number_is_set(service: str) -> None:
    """BLAS reads its environment when it is loaded."""
    listing = f"import sys, helix_{service}.__main__; print('numpy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", listing], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
