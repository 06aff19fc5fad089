"""The words that fields may hold, and what each means."""
