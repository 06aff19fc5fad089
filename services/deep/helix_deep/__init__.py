"""Optional: recall with the help of a language model, for callers who accept seconds.

Start with `deep_recall`: the stages in their order. `questions/` is what the model is asked and how its
answers are checked, `stages/` what follows from them without it, `fast/` the query service, `api/` the
contract. May import `helix_memory` and `helix_shared` without its artifacts and its broker, and no other
service.
"""
