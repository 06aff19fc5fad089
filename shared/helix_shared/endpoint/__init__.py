"""The HTTP client of language models, for `extract` and `deep`; extra [endpoint].

`settings` say which model and what may be spent, `client` sends one question, `reply_form` finds the form of
answer that the server accepts, `breaker` pauses after failures. `json_text` finds the JSON in a reply,
`passages` compares what it quotes. Knows nothing of turns and memories, and no other service may import it.
"""
