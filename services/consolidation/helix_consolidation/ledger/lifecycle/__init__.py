"""What lifecycle events leave behind: actions that wait for their memories, and tombstones."""
