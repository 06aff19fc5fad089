"""Metrics of the language model; the label `call` names the kind of question, tenants are no labels."""

from __future__ import annotations

from prometheus_client import Counter, Enum

CALLS = Counter("helix_llm_calls_total", "Requests to the language model", ["call", "outcome"])
TOKENS = Counter("helix_llm_tokens_total", "Tokens that the language model counted", ["call", "kind"])
DROPPED = Counter("helix_llm_dropped_total", "Items of answers that failed a check", ["call", "reason"])
HELD_BACK = Counter(
    "helix_llm_held_back_total",
    "Turns, pairs and memories that were not sent: they hold a credential",
    ["call"],
)
BREAKER = Enum(
    "helix_llm_breaker",
    "State of the circuit breaker before the language model; 1 is the present one",
    states=["closed", "half-open", "open"],
)
