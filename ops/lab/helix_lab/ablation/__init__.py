"""Ablation: what each part of recall contributes, and what it costs.

Start with `command`. `switches` lists the parts, `contributions` and `timing` measure them, `tables` prints
the result. May import `evaluate`, `sets`, `measures`
and `report`.
"""
