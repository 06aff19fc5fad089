"""What can be asked over HTTP: each operation with its request, its reply and the role that it needs.

Start with `operation`. `reading` and `writing` list the operations. Requests are made from the options of the
client (`requests`), replies from what the client returns (`replies`), so both have the client's names.
"""
