"""Evidence about single memories besides the rankings of the channels: never fused, read by stage 6.

Start with `searches`, which says what to look for; `phrase_match`, `definition` and `term_coverage` look it
up, `quotation` tells which queries may be quotations. May import `context`, `visibility`, `channels` and
`routing`.
"""
