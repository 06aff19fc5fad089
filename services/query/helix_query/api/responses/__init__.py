"""Replies: what a call found, as messages of the contract."""
