"""Characters and flags of a text: Unicode forms, writing systems, instructions, credentials."""
