"""Sets that stay open, for commands that ask them with many ranking profiles."""
