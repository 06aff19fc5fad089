"""Files below every room: mapped arrays, held folders, durability, and background work.

Start with `mapped` (how an array is read) and `durability` (how a file is synced and hashed). Imports no
other room of the artifacts.
"""
