"""Recall over gRPC, one package per protocol version."""
