"""Keys of users for backups: the owner of the key of an event, and keys that can forget single events.

Start with `key_store`, the folder. `key_tree` is the form of one key, `owner` says whose key an event gets.
Nothing here encrypts: `helix backup` does, and an erasure only destroys (ops/decisions/0082).
"""
