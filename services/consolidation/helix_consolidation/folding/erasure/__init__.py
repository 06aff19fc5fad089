"""What an erasure takes with it: whole events, and what other memories quote of them.

Start with `carry_out`. `quotations` removes the text of erased events from the memories that quote them.
"""
