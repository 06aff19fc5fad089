"""What several commands share; holds no command.

`options` has options of several commands, `query_options` those of a query and the request made of them,
`publishing` sends events with a progress bar for `publish` and `import`. May import every room but the
commands.
"""
