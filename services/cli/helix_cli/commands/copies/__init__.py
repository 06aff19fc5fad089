"""Commands that copy what is remembered: export and clone of tenants, backup and restore, the archive."""
