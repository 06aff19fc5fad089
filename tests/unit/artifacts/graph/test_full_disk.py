"""A compaction without room on the disk fails as any write does; it does not end the process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

LARGER: Final = """
import errno, os, sys
from pathlib import Path

import numpy as np

from helix_shared.artifacts.graph.builder import GraphBuilder
from helix_shared.artifacts.graph.compaction import compact
from helix_shared.artifacts.graph.snapshot import GraphSnapshot, Link

builder = GraphBuilder.empty()
links = [Link("MENTIONS", "name", f"name {number}", "", 1.0) for number in range(8)]
for ordinal in range(2_000):
    builder.set_links(ordinal, "acme", links)
graph = GraphSnapshot.of(builder.base, builder.delta(2_000))
try:
    compact(graph, Path(sys.argv[1]) / "base")
except OSError as error:
    sys.exit(0 if error.errno == errno.ENOSPC else f"another error: {error}")
sys.exit("the disk was not full")
"""
"""A compaction of 32,000 edges, whose targets alone take 128,000 bytes."""


def test_a_compaction_on_a_full_disk_is_an_error(tmp_path: Path) -> None:
    """A file that was mapped before its bytes were allocated would end the process with SIGBUS."""
    mount = f'mount -t tmpfs -o size=96k none "{tmp_path}" || exit 75; exec "$@"'
    mounting = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, "sh"]
    try:
        done = subprocess.run(
            [*mounting, sys.executable, "-c", LARGER, str(tmp_path)],
            check=False,
            capture_output=True,
            text=True,
            env=os.environ | {"PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"},
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if done.returncode == 75 or "unshare:" in done.stderr:
        pytest.skip(f"no file system can be mounted here: {done.stderr}")
    assert (done.returncode, done.stderr) == (0, "")
