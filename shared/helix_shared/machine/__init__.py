"""Operating system functions: processes, atomic file replacement, panics of native engines."""
