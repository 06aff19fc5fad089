"""The benchmark: what Helix costs over generated memories.

Start with `command`. `generate/` builds the data, `run_folder` starts the stack over a clone of it;
`reading/` and `writing/` have a module for each section of the report.
"""
