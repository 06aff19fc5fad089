"""Calibration: the probability that an answer is relevant, and the threshold below which recall abstains.

Start with `command`. `unanswerable_questions` chooses questions, `observations` asks them, `sample_weights`,
`models` and `fit` fit, `assessment` judges, `profile_text` writes.
"""
