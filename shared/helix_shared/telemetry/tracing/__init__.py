"""OpenTelemetry traces of the services: off unless an endpoint is named; ids, sequences and counts only.

`setup` reads the environment once per process, `spans` starts and ends spans, `attributes` lists everything
that a span may say. Owns no part of a message: `helix_memory.trace_context` has the header.
"""
