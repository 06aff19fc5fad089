"""The gRPC API: requests in, replies out.

Start with `service` (the handlers); `calls` runs their work on the current generation. `requests` reads
the scope, the filters and the options of a request, and each call with more fields reads its own
(`listing_calls`, `neighbours_call`). `responses` fills the replies about memories. What a request leaves out
comes from its ranking profile (`profile/helix.toml`). `helix_shared.rpc` listens and turns errors into
statuses. May import every other room; none imports it.
"""
