"""Characters, flags and wording of a text: Unicode forms, scripts, instructions, credentials, names."""
