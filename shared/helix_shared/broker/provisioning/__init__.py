"""What exists on a NATS server: `provision` makes it what `streams` describes, `drift` compares."""
