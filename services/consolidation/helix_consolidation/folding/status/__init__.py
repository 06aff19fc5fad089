"""What holds: the status of one memory, the relations that count, and the versions that correct each other.

Start with `version_family`, which updates the status of a memory and its relatives.
"""
