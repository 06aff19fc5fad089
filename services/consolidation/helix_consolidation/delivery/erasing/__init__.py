"""The rest of an erasure once the stores are clean: the streams, and memories that quoted erased events.

Start with `eraser`, which runs three tasks (`periodic_task`). `plan` looks up what leaves the log, by the
rule of `selected`; `other_streams` removes what other streams hold of it; `derived_blocks` removes the
bytes of pruned messages; `rederiving` has events derived again.
"""
