"""What several commands share; holds no command.

Start with `query_options` (options of a query, and the request made of them) and `options` (those of several
commands). `publishing` sends events with a progress bar for `publish` and `import`. May import every room but
the commands.
"""
