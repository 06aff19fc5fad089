"""Access to a server: credentials from tokens, the scope that they allow, and the listening address.

`admission` is what handlers are wrapped in: it takes the credential of a call (`authenticator`), checks its
role and bounds the scope of the request (`credential`). `static_tokens` and `jwt_tokens` read tokens,
`listening` binds with TLS and refuses an open address without authentication. Everything fails closed.
"""
