"""All of Helix on one machine: its processes.

Start with `stack`: the class `Stack` starts, watches and stops the processes; `services` lists which, and how
many copies; `readiness` tells when a stack is ready. May import `home`, `security`, `clients`, `model_build`
and `output`.
"""
