"""Packing: reads the rows of the chosen memories, and packs them within a token budget.

Start with `pack`; `rows` reads what an answer shows, `fetch` that of a recall, `entries` holds citation and
heading, `neighbours` what is packed around a memory. May import `context`, `result`, `visibility` and the
snapshot, no stage.
"""
