"""The benchmark: generated memories by the million, and what Helix costs over them.

`base` reads real texts, `layout` and `vary` make as many memories of them as asked for, `noise` their
vectors, `load` writes them through the real artifact writers, `kept` finds what was built before.
"""
