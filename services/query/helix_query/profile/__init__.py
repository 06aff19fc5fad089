"""Ranking profiles: the constants of the eight stages. Start with `profile`.

`sections` has a class for each group of constants with bounds and descriptions. `helix.toml` is the
default profile. `files` reads profiles, `overrides` changes single constants by dotted key, `intent` is
the enum of intents. `recipes` has what only published recipes need. Imports nothing of `recall`.
"""
