"""Fits the share of the dense channel by query, the constants `[fuse.adaptive]` of a ranking profile.

Start with `command`. `curves` asks every question with several fixed shares, `fit` finds the coefficients,
`assessment` leaves every kind of text out in turn, `kinds` has their main metrics.
"""
