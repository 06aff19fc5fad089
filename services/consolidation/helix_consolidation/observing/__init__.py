"""What nobody else counts for an operator: `observer` reads streams, erasures and the disk."""
