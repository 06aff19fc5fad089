"""`helix security init`: a secured stack, which two files of this folder share, and a secured NATS server."""
