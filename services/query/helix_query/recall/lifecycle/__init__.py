"""Lifecycle: how the candidates stand to one another, and what that does to their scores.

`related` looks up answers and relations of the candidates (end of stage 5), `restatements` what is said twice
(stage 7). `speech_acts`, `turns`
and `outdated` turn them into the factors and gains that stage 6 applies; `newer` reads the order in time,
`persons` whom a candidate is about.
Imports candidates and context; the stages import it.
"""
