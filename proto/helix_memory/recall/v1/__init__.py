"""Generated stubs of `recall.proto`; `make stubs` writes them, a test proves them current."""
