"""Persons of a turn: whom its first pronoun means (`pronouns`, `organisations`), whom it is about (`about`).

Start with `pronouns`; `mentions` finds the persons of a turn. The rules prefer no answer to a wrong one.
"""
