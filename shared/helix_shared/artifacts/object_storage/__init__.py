"""Generations in object storage: S3, Google Cloud Storage, Azure or a folder (ops/decisions/0094).

Start with `layout` (what lies where). `store` wraps the engine, `canary` proves that a store honours
preconditions, `uploading` publishes a generation there, `pulling` takes it to a local disk, `collecting`
removes what no kept generation names. Needs the extra `object-storage`.
"""
