"""What a rebuild takes over from the generation whose place it takes, and how it takes it."""
