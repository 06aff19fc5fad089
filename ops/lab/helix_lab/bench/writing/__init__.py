"""What an event costs until it is recallable. Start with `live_ingest`; `ingest_rate` is the rate in bulk."""
