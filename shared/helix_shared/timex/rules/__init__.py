"""The rules of time expressions, and the walk through a text that applies them.

Start with `scan`, which takes the longest reading at each place; `simple` lists the rules, `composed`
combines two times, `ranges` joins readings. May import the vocabulary and arithmetic of `timex`.
"""
