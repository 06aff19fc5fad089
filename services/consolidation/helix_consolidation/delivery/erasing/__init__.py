"""What an erasure still has to do when the stores are clean: streams, and memories that quoted it.

Start with `eraser`. `selected` says which messages of the log go, `copies` which messages of other streams
hold a copy of one; `derived_blocks` removes the bytes of pruned messages; `neighbours` has events derived
again.
"""
