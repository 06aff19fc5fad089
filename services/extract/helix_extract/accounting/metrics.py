"""Metrics of what is asked about; tenants are no labels, the ledger counts by tenant.

The label `call` of `helix_shared.endpoint.metrics` tells the questions about windows of turns from those
about pairs of memories.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

ABOUT_WINDOWS: Final = "windows"
ABOUT_PAIRS: Final = "pairs"

WINDOWS = Counter("helix_llm_windows_total", "Windows of turns by what became of them", ["outcome"])
PAIRS = Counter("helix_llm_pairs_total", "Pairs of memories by what became of them", ["outcome"])
