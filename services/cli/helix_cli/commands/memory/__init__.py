"""`helix memory`: shows the history of a memory, and changes memories.

Start with `app`, which has the commands. `change` publishes the events of a command that changes memories,
waits, and says what became of each memory; `state` reads what the query service serves of it before and
after. A new command that changes memories is a function in `app` with its events and the rule that tells what
changed.
"""
