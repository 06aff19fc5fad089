"""The forwarder: a process of its own that brings what was served from the query service to HELIX_ACCESS.

The query service has no broker and consolidation asks no service; this process alone has both clients. It
holds no state: when it is down, accesses are lost, and nothing else. Start with `forward`. Imports nothing of
the writer.
"""
