"""The constants of a ranking profile: a file for each group of stages, put together by `profile`."""
