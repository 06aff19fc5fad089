"""What an erasure still has to do when the stores are clean: streams, and memories that quoted it.

Start with `eraser`, which has three tasks in the `background`. `plan` looks up what leaves the log, by the
rule of `selected`; `other_streams` removes what other streams hold of it; `derived_blocks` removes the
bytes of pruned messages; `rederiving` has events derived again.
"""
