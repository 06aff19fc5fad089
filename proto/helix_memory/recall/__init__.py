"""Recall over gRPC, one package per protocol version; start with `v1/recall.proto`."""
