"""The broker side: lease, standby, fetching, and the order apply -> publish -> acknowledge.

Start with `consumer` (life of the process) and `writer` (the loop). `pace` has the intervals, `housekeeping`
retires generations and sweeps expired rows, `prune` purges HELIX_DERIVED. Imports every other room.
"""
