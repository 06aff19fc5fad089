"""Figures computed from answers. Start with `metrics`.

`metrics` scores rankings, `evidence` packed contexts, `linkage` the graph between documents that belong
together, `intervals` and `macro` say how certain a mean is, `abstention` judges unanswerable
questions, `figures` puts all of it into the report. A new metric has a name with `@`; its place and its words
in the report are in `report.figures` and `report.explain`.
"""
