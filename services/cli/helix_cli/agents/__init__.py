"""What `helix agent` installs: the hooks in the files of a coding agent, and the program that they call.

Start with `hosts`: where each agent keeps its hooks, and which it has. `hook_file` changes such a file
and keeps what is not ours, `helix_hook` is the program, `connection` tells it where the gateway is and
for whom it speaks, `plugin` writes the same as a plugin of Claude Code, `timing` measures what a prompt
waits. May import `stack` and what is below it.
"""
