"""Generations: the vectors, lexicon, graph and signals of one moment, published together or not at all.

Start with `folders` (the layout on the disk), then `publishing` (from the `live_stores` to a generation) and
`reader` (a generation opened). `manifest` and `integrity` describe and verify it, `cloning` starts a writer
from it, `retiring` removes old ones. Imports every other room of the artifacts.
"""
