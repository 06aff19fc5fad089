"""kg: memory -> entities and typed links."""
