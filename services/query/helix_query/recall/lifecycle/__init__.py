"""Lifecycle: relations between candidates (answers, replacements, order in time), and their effect on scores.

`related` looks up answers and replacements of the candidates (end of stage 5). For stage 6 `speech_acts`,
`outdated` and `derived_statements` turn them into factors and gains of the score, `newer` compares the order
in time, `persons` tells whom a candidate is about. For stage 7 `restatements` tells which candidates say the
same. Imports candidates and context; the stages import it.
"""
