"""The artifacts of one generation: one file per format, its writer and its reader together.

Ordinals (dense int64, given by consolidation in order of first arrival, stable for ever) are the
row index of every array here. Consolidation alone holds the writers; the query service maps the
readers of a published generation.
"""
