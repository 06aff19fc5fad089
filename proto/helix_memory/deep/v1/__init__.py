"""The contract of the deep service: start with `deep.proto`.

The stubs are generated from it by `make stubs`; a test proves them current.
"""
