"""What all services use: identity, errors, settings, logs, metrics, broker, encoders, artifacts, time, names.

Start with `errors` and `edges`. `about` is whom a statement is about, `audience` the rule of who may see and
quote, `calendar_days` the days of a time zone. May import `helix_memory`, and no service. A room that needs
an engine has an extra of the same name.
"""
