"""The statements with decided relations, in the order of the log, and the search for candidates among them.

Start with `statement_index`, which holds them all; `group_index` finds candidates in one group. Structures
without knowledge of the ledger: `folding.relate` connects them. Imports `relations` for its types.
"""
