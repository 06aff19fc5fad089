"""Generations in object storage: S3, Google Cloud Storage, Azure, a folder, NATS (ops/decisions/0094, 0112).

Start with `layout` (what lies where). `store` has the operations and `opening` opens a store: `cloud_store`,
or `nats_store` with `nats_bucket` and `nats_connection`. `canary` proves that a store honours preconditions,
`uploading` publishes a generation there, `pulling` takes it to a local disk, `collecting` removes what no
kept generation names. Needs the extra `object-storage`.
"""
