"""Deep recall over gRPC, one package per protocol version; start with `v1/deep.proto`."""
