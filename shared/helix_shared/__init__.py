"""Words and tools all rooms use: identity, errors, settings, telemetry, broker, encoders, artifacts.

Knows no service. What needs an engine stands behind an extra of the same name.
"""
