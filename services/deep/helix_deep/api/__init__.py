"""The gRPC API of the deep service: `requests` checks, `service` streams, `results` fills the reply."""
