"""Published recipes as ranking profiles, and the constants that only they use, neutral by default.

| profile | source | uses |
|---|---|---|
| `cems` | github.com/Chocksy/cems | `rephrase`, method `blend`, factors of access, project, priority |
| `engram` | github.com/raya-ac/engram | all four channels, method `blend`, factors of importance and age |
| `helix-reference` | specification | reciprocal rank fusion, method `additive`, MMR |

Start with `scoring` (constants of stage 6) and `rephrase` (of stage 3). `recall.recipes` reads them. Decision
0012 lists what is approximated.
"""
