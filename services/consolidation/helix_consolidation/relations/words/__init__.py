"""The analysis of the text of one statement: cues, values, and the `Reading` that holds both.

Start with `reading`. Nothing here knows of a second statement, but `opposites`, which compares two texts.
"""
