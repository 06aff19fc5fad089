"""How is the language model asked, and what does it cost?

`client` sends one question, `reply_form` finds the form of answer that the server accepts, `breaker` pauses
after failures, `ledger` counts tokens, calls and drops. Knows nothing of turns and memories.
"""
