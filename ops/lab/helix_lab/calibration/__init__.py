"""How likely is an answer, and when is it better to say nothing?

Start with `command`. `unanswerable_questions` chooses questions, `observations` asks them, `sample_weights`,
`models` and `fit` fit, `assessment` judges, `profile_text` writes.
"""
