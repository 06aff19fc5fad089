"""What an erasure takes with it: whole events, and what other memories quote of them.

Start with `carry_out`. `quotations` takes the text of erased events out of the memories that quote them.
"""
