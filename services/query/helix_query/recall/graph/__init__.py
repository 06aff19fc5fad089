"""The walk of the graph in stage 5. Start with `graph_mass`.

`walk` has the two methods, `pagerank` and `bounded_walk`, both over `local_subgraph`, which reads a graph
snapshot as far as a walk goes. `bridge` finds the second hop of a multi-hop question in texts. May import
`profile`, `recall.candidates` and shared packages; knows no query, generation or service.
"""
