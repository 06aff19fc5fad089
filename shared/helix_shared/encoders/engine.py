"""Imports ONNX Runtime with its telemetry off: version 1.31 reports each model and session to its maker.

Without the variable it keeps a database below `~/.cache/Microsoft` and sends it whenever there is a network.
`disable_telemetry_events` comes too late: the database is open by then. Every module imports ONNX Runtime
from here.
"""

from __future__ import annotations

import os

os.environ["ORT_DISABLE_TELEMETRY"] = "1"

import onnxruntime

__all__ = ["onnxruntime"]
