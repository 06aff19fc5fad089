"""The constants of a ranking profile, a file for each group of stages; `profile` puts them together."""
