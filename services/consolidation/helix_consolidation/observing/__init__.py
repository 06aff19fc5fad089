"""Metrics of streams, erasures and the disk, which no other part measures; `observer` reads them."""
