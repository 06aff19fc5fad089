"""3. everything -> generations: the one writer of Helix.

What follows from the derived messages and lifecycle events so far? `fold` answers in memory,
`apply` writes it to the three stores and the signals, `publish` makes it a generation, and only
then `consumer` acknowledges. Next comes the query service, which maps the generation read-only.
"""
