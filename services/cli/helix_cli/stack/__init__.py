"""All of Helix on one machine: its processes, its home folder, and where commands find it.

Start with `stack`: the class `Stack` starts, watches and stops the processes; `services` lists which, and how
many copies. `home` holds the paths, the lock and the record of a run, `addresses` finds the servers of a
home, `readiness` tells when a stack is ready. May import `clients`, `model_build` and `output`.
"""
