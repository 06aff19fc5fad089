"""Fit of the query adapter: `observations` asks the sets once, `fit` descends, `command` judges."""
