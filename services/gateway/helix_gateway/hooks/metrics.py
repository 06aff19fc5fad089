"""Metrics of the hooks."""

from __future__ import annotations

from prometheus_client import Counter, Histogram

HOOKS = Counter(
    "helix_gateway_hooks_total",
    "Hooks of coding agents by outcome: injected, nothing (to say), accepted (a transcript), trouble",
    ["agent", "hook", "outcome"],
)
HANDED_OVER = Counter(
    "helix_gateway_transcript_items_total",
    "Items of transcripts by outcome: written, left_out, refused",
    ["outcome"],
)
HOOK_SECONDS = Histogram(
    "helix_gateway_hook_seconds",
    "Time of a hook inside the gateway",
    ["hook"],
    buckets=(0.005, 0.01, 0.02, 0.03, 0.06, 0.1, 0.2, 0.3, 0.5),
)
