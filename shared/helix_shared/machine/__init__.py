"""This machine below the code: processes, files that are replaced whole, panics of native engines."""
