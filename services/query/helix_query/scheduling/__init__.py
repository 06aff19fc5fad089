"""Scheduling: the order of calls, their threads, and their deadlines.

Start with `fair_queue` (the order of the calls, round robin over tenants) and `fair_executor` (the threads
that run them; it accounts for each thread until it ends, and has the limit of stuck threads).
`worker_threads` are the threads, `progress` lets a call wait for an event, `deadline` and `lazy` are helpers.
Imports no other room.
"""
