"""Figures computed from answers. Start with `metrics`.

`metrics` scores rankings, `intervals` and `macro` say how certain a mean is, `abstention` judges unanswerable
questions, `figures` puts all of it into the report.
"""
