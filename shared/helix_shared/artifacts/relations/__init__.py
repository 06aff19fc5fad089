"""Decided relations between memories: kind, probability and evidence.

`records` has the stored form, `relation_files` its writer and reader. The graph holds the same relations as
edges while they count; here is what a history shows of them.
"""
