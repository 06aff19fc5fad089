"""`helix doctor`: what is wrong with a home and its servers, what it means, and what to do.

`finding` is what a check returns; `home_checks`, `security_checks` and `generation_checks` read files,
`server_checks` ask NATS and the query service; `repairs` does what is safe. May import `stack`, `security`,
`clients`, `output` and consolidation.
"""
