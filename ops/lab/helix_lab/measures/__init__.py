"""Numbers made of answers.

`metrics` scores rankings, `intervals` and `macro` say how certain a mean is, `abstention` judges unanswerable
questions, `figures` puts all of it into the report.
"""
