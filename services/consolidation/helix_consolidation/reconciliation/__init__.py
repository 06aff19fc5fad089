"""Reconciliation: do the stores of a generation and the log hold the same memories?

`compare` reads one published generation, `log` the events that it counts as applied; `schedule` runs both
every night in the writer, `helix doctor` when it is asked. They read only. May import `stores` and what is
below it.
"""
