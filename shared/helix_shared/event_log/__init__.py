"""Events outside NATS: the lines of an export and the segments of the archive, writer and reader together.

`read.records_of` reads both, in the order of the log. Start with `record`. Calls nobody but the errors of
`helix_shared`.
"""
