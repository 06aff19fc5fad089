"""What `helix security` makes: certificates, the users of NATS with their rights, and static tokens.

`folder` says where the files are, `setup` makes and renews them, `permissions` has the subjects of every
user. Secrets stand only in files with mode 0600; the state has hashes.
"""
