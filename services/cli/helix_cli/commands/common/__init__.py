"""What several commands share; holds no command.

Start with `query_options` (options of a query, and the request made of them) and `options` (those of several
commands). `option_group` gives a command a group of options. `publishing` sends events with a progress bar,
`deep_lines` words what `helix status --deep` measures. May import every room but the commands.
"""
