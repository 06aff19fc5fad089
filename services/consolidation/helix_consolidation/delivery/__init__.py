"""The broker side: lease, standby, fetching, and the order apply -> publish -> acknowledge.

Start with `consumer` (life of the process) and `writer` (the loop). Imports every other room.
"""
