"""Statements of a caller about their own name, home, work, partner and age, for questions about these.

Start with `search`; `questions` tells which of these facts a question asks for, by the example questions of
`questions.toml`. What is stated, and what holds, is decided as for a profile (`user_profile`).
"""
