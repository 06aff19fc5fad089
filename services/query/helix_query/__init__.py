"""Question in, memories out: the read-only gRPC service that answers recall, without any LLM."""
