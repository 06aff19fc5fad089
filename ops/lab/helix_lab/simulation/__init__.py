"""`helix-lab simulate`: several shards and replicas as discrete events, with measured service times.

`engine` has events and stations, `parameters` the figures and their sources (`measured.toml`), `reading`
and `writing` the two sides of Helix, `scenarios` what is tried, `charts` and `command` the report. Read
`scenarios` first. Nothing here runs Helix.
"""
