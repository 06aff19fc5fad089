"""The way to NATS and to the query service, for the client, the command line, the services and the lab.

`publisher` (with `connection` and `batch`) writes events and derived messages, `dead_letters` reads what was
refused, `recall_client` calls the query service; `credentials` has who calls and writes. All errors are of
`helix_memory.errors`. `publisher`,
`connection`, `batch` and `dead_letters` need the extra [client], which is nats-py.
"""
