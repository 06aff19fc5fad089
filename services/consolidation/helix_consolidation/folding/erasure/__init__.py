"""What an erasure removes: whole events, and their quotations in other memories.

Start with `carry_out`. `quotations` removes the text of erased events from the memories that quote them.
"""
