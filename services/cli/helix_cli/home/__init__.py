"""The home: which folders it has, what runs on it, and where a command finds that.

Start with `folder`. `record` tells what runs, `lock` excludes a second `helix up`, `leftovers` ends what a
killed one left; `addresses` finds NATS, the query service and the gateway, and `served` waits for the first
generation. May import `security`, `clients` and `output`.
"""
