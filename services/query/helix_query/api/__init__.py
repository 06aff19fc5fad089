"""The gRPC API: requests in, replies out.

Start with `service` (the handlers); `calls` runs their work on the current generation. `requests` is the only
module that reads a request, `responses` the only one that fills a reply; it calls `explanation_response` and
`why_not_response` for their messages. What a request leaves out comes from its ranking profile
(`profile/helix.toml`). `helix_shared.rpc` listens and turns errors into statuses. May import every other
room; none imports it.
"""
