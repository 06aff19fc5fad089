"""Orders and codes over all memories of one generation, for lists, moments and profiles."""
