"""Provisioning of a NATS server: `provision` applies what `streams` describes, `drift` compares."""
