"""Whom the first pronoun of a turn means: "he" or "she" (`pronouns`), "they" (`organisations`).

Start with `pronouns`; `mentions` finds the persons of a turn. The rules prefer no answer to a wrong one.
"""
