"""The ways to find candidates: one file each, all of one shape, scoped by the selection."""
