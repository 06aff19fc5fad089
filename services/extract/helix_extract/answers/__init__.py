"""What is asked, and what becomes of the answer?

`prompt` writes the question, `check` drops what the turns do not support of a reply, `records` keeps replies
in HELIX_ANSWERS, so that no window is asked about twice. Nothing here calls the model. May import `windows`.
"""
