"""doc2query: memory -> the questions it answers."""
