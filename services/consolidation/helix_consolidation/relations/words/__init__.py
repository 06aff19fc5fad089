"""What the words of one statement say: its cues, its values, and the reading that holds both.

Start with `reading`. Nothing here knows of a second statement, but `opposites`, which compares two texts.
"""
