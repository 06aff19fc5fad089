"""Files that all artifacts use: mapped arrays, held folders, durability, and background tasks.

Start with `mapped` and `saved` (how an array is read and written) and `durability` (how a file is synced and
hashed). Imports no other room of the artifacts.
"""
