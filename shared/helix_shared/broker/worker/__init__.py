"""Code that ingest, doc2query and kg share: life cycle, threads, outbox, deriving and rederiving messages.

Start with `worker`. May import the other modules of `helix_shared.broker` and top-level ones of
`helix_shared`.
"""
