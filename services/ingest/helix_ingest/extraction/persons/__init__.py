"""Which persons a turn mentions (`mentions`), and whom its first "he" or "she" means (`pronouns`).

Start with `pronouns`. The rules prefer no answer to a wrong one.
"""
