"""Our own development set: what people, families and teams tell an assistant over months.

Each tenant is a text file, which `timeline` reads: events with the values they state, relations between
events, and questions with their gold and outdated events. `helix_lab.sets.load` makes the set `months` of
them, `helix_lab.relations.labelled` labelled pairs.
"""
