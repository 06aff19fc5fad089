"""Evaluation: how good is recall, measured the way a user meets it (publish, wait, ask)."""
