"""Metrics of the language model; tenants are no labels, the ledger counts by tenant.

The label `call` tells the questions about windows of turns from those about pairs of memories.
"""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter, Gauge

ABOUT_WINDOWS: Final = "windows"
ABOUT_PAIRS: Final = "pairs"

CALLS = Counter("helix_llm_calls_total", "Requests to the language model", ["call", "outcome"])
TOKENS = Counter("helix_llm_tokens_total", "Tokens that the language model counted", ["call", "kind"])
WINDOWS = Counter("helix_llm_windows_total", "Windows of turns by what became of them", ["outcome"])
PAIRS = Counter("helix_llm_pairs_total", "Pairs of memories by what became of them", ["outcome"])
DROPPED = Counter("helix_llm_dropped_total", "Items of answers that failed a check", ["call", "reason"])
BREAKER = Gauge("helix_llm_breaker", "Circuit breaker: 0 closed, 1 half-open, 2 open")
BREAKER_VALUES = {"closed": 0, "half-open": 1, "open": 2}
