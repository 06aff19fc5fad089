"""The contract: start with `recall.proto`.

The stubs are generated from it by `make stubs`; a test proves them current.
"""
