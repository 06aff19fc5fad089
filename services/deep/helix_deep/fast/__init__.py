"""The query service as the deep service calls it; its answers are the only memories that there are.

`query_service` calls it with the credential of the caller, `replicas` spreads the calls over several
services of a shard, `lists` writes the requests.
"""
