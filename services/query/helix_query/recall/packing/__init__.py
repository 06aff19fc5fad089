"""From the chosen memories to the answer: their rows, and the context packed within a token budget.

Start with `pack`; `rows` reads what an answer shows, `fetch` that of a recall, `entries` holds citation and
heading, `neighbours` what is packed around a memory. May import `context`, `result`, `visibility` and the
snapshot, no stage.
"""
