"""What was served, for the operator: a bounded ring in memory, and the server that a forwarder reads it from.

Recording never waits and never fails, and the service keeps needing no broker (ops/decisions/0040). Start
with `ring`. May import nothing of the service at run time.
"""
