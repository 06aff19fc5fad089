"""Tuning: a search for the best constants of a profile, judged on held-out questions.

Start with `command`. `space` lists the constants, `splits` and `nested` keep held-out questions away from
`search`.
"""
