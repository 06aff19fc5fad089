"""Generated memories for the benchmark: real texts, varied by the million, written through the real writers.

Start with `load.build`. `base_memories` reads real texts, `layout` decides tenants, sessions and times,
`variants` and `variant_vectors` make texts and vectors, `edge_rows` makes rows, `build_cache` finds earlier
builds.
"""
