"""The broker side: lease, standby, fetching, and the order apply -> publish -> acknowledge.

Start with `consumer` (life of the process), `session` (what a writer opens) and `writer` (the loop). `pace`
has the intervals, `housekeeping` retires generations and sweeps expired rows, `streams` looks after the log
and HELIX_DERIVED.
Imports every other room.
"""
