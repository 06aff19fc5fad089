"""What follows from lists and answers without the language model: fusing, the model's order, what is kept.

Pure functions on ids and scores. Start with `fuse`; `order` has the steps after it.
"""
