"""Messages as they arrive: decoded and checked, and their rows as the ledger and the relations need them.

Start with `decode`. Changes no state.
"""
