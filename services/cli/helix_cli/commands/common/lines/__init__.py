"""Lines that several commands print."""
