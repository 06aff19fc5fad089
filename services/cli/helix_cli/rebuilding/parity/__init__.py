"""Whether a generation that was made again says what the one before it says.

Start with `compare`: ids, columns and vectors (`columns`), links and relations (`links`) of two generations,
joined by memory id, because ordinals differ. `result` is what it returns; `unfinished` says of which events
the older generation is not complete.
"""
