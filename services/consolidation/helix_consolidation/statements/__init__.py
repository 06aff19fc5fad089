"""The statements that decisions were made about, in the order of the log, and how earlier ones are found.

Start with `statement_index`, which holds them all; `group_index` finds candidates in one group. Structures
without knowledge of the ledger: `folding.relate` connects them. Imports `relations` for its types.
"""
