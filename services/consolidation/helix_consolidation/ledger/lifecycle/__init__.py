"""The lasting effects of lifecycle events: actions that wait for their memories, and tombstones."""
