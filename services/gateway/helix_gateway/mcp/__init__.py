"""MCP: tools and resources for agents, over streamable HTTP; `helix mcp` brings them to stdio.

`server` answers the protocol with the official SDK, `tools` has the seven tools, `results` what they return,
`resources` what can be read, `prompts` what a person may choose, `names` the same under the names of other
memory servers. An agent names no tenant and no user, and has no tool that erases.
"""
