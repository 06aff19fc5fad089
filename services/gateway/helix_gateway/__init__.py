"""The gateway: the client of Helix over HTTP. It speaks for its callers and opens no store.

`operations` has what can be asked, each with its request and reply, over `helix_memory.client`. `rest` serves
them as paths with an OpenAPI document, `mcp` serves tools for agents. `door` stands before both: where a
request may come from, how large it may be, how long it may take. `callers` tells for whom it speaks.
"""
