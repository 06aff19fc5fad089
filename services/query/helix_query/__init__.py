"""The query service: read-only gRPC recall over one generation, without any LLM.

`app` wires the rooms together. `api` reads requests and fills replies, `scheduling` decides when a call runs,
`generations` holds the generation that answers, `diagnostics` explains an answer, `recall` computes it (start
with `recall/recall.py`), `profile` holds the ranking constants.
"""
