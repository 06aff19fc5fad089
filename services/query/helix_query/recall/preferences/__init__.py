"""Preferences and constraints for questions that ask for advice, a choice or an action.

Start with `search`; `topics` tells what a text is about and whether a question asks for advice, both from the
example sentences of `topics.toml`.
"""
