"""Characters: Unicode forms and writing systems."""
