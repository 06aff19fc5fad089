"""What other programs wrote down, as events: Markdown, Claude Code, Codex.

`discover` finds files and their format, one reader per format turns a file into items (`items`),
`fitting` makes texts keep the limits without losing a word unsaid. All pure, but for reading files.
"""
