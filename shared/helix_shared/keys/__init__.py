"""Keys of users for backups: whose key an event is under, and how a key forgets single events.

Start with `key_store`, the folder. `key_tree` is the form of one key, `owner` says whose key an event gets.
Nothing here encrypts: `helix backup` does, and an erasure only destroys (ops/decisions/0082).
"""
