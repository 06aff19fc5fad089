"""Records of what was served: a bounded ring in memory, and the server from which a forwarder reads it.

Recording never waits and never fails, and the service keeps needing no broker (ops/decisions/0040). Start
with `ring`. May import nothing of the service at run time.
"""
