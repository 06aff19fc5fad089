"""Calibration: the probability that an answer is relevant, and the threshold below which recall abstains.

Start with `command`. `unanswerable_questions` and `attribute_questions` choose questions, `observations` asks
them, `sample_weights`, `models` and `fit` fit, `assessment` and `tenants_left_out` judge, `summary` prints.
"""
