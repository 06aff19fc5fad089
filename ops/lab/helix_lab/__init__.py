"""Evaluation: the quality and the cost of recall, measured as a user meets it (publish, wait, ask).

Start with `commands`, those of `helix-lab`, and `evaluate`, the body of `helix-lab eval`. `sets` reads
evaluation sets and asks them, `measures` scores answers, `report` writes figures. `bench`, `calibration`,
`tuning`, `ablation` and `peers` are one command each. May import every other package; none imports this one.
"""
