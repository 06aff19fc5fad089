"""The query service as the deep service calls it; its answers are the only memories that there are.

`query_service` calls it with the credential of the caller, `lists` writes its requests.
"""
