"""A recall: from a query to packed memories. Start with `recall`, the stages in their order.

`context` is what every stage may read, `query` what is asked, `result` what comes back, `candidates` what
travels between stages, `relevance` what scores are made of before their steps, `visibility` who may see which
memory. Rooms: `stages` (one file a stage), `routing` (stage 2), `channels` and `evidence` (stage 3), `graph`
(stage 5), `lifecycle` (what relations and time do to scores), `preferences`, `profile_facts`, `user_profile`,
`packing` (stage 8), `recipes` (published recipes only). May import `generations.snapshot`, `profile`
and `scheduling`; not `diagnostics` or `api`.
"""
