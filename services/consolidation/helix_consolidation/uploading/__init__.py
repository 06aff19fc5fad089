"""Generations to object storage, beside the writer (ops/decisions/0094).

What is uploaded and collected is in `helix_shared.artifacts.object_storage`.
"""
