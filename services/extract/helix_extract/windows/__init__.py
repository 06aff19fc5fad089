"""Which turns are asked about together? `window` has the rule, `session_log` reads the turns from the log.

A window follows from the log alone: sizes of the turns and the times at which the server stored them. So a
replay, a restart and a second copy of the worker find the same windows.
"""
