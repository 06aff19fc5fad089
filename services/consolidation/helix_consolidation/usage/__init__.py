"""What follows from the use of memories: counts of accesses, and decay of what is weak, old and unused.

Start with `decay`, whose rule ops/decisions/0040 explains. `accesses` counts what the forwarder
published. The salience that use moves is computed by `helix_shared.artifacts.signals.salience`. May import
folding and the ledger.
"""
