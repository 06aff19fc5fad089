"""Whether a question is about earlier times, and which."""
