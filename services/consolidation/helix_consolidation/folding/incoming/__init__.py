"""Incoming messages: decoding, checks, and their rows in the form of the ledger and of relations.

Start with `decode`. Changes no state.
"""
