"""Usage of memories: access counts, and decay of weak, old and unused memories.

Start with `decay`, whose rule ops/decisions/0040 explains. `accesses` counts what the forwarder
published. The salience that use moves is computed by `helix_shared.artifacts.signals.salience`. May import
folding and the ledger.
"""
