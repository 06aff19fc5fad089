"""What the stores of a shard need to take over a tenant; `replaying` is the way in."""
