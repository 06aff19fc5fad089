"""Telemetry of a process: logs, metrics, health, traces."""
