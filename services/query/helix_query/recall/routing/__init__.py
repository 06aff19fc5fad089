"""How a query is read before anything is looked for: skip rules, intents by rule, intents by example.

`helix_query.recall.routing.route` puts them together.
"""
