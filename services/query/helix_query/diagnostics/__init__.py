"""Diagnostics: why a recall returned what it returned.

Start with `explain` (the explanation of one recall) or `why_not` (why a memory is missing, and what brings it
in). `explanation` has the values, `proposals` lists changes for each loss, `replays` tries them (`replay` is
the value of one trial), `channel_rank` finds the rank of a memory in a deeper search. `hidden_memory` tells
what hides a memory from every recall, `memory_history` what it replaced and what replaced it. `dense_check`
and `index_recall` measure recall against exact search, `graph_check` what the graph brings to
`pair_questions`. May import `recall` and `profile`.
"""
