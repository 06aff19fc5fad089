"""24 more tenants in the form of `months`, which judge what was fitted to those.

`helix_lab.sets.load` makes the set `months_unseen` of them. Nothing is fitted to it: who fits a constant, a
model or a rule to these tenants writes others.
"""
