"""Status: which memories are current, which relations count, and which versions correct each other.

Start with `version_family`, which updates the status of a memory and its relatives.
"""
