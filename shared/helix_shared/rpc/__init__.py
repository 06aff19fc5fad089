"""A gRPC server as all services of Helix run it; extra [rpc].

`server` listens, with health, reflection and limits on every size. `guard` is the outermost frame of every
call, `statuses` has the status of every error class. Knows no contract.
"""
