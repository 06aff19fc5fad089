"""Importing late-interaction models (ColBERT): what differs from a sentence encoder.

Start with `importing`. `description` reads what the folder says of the model, `graph` appends the projection
that some exports leave out, `fidelity` compares the states of two models.
`helix_shared.encoders.late_interaction` runs them.
"""
