"""The second question: pairs of memories about which the rules of consolidation are unsure.

Start with `judge`, the handler of HELIX_PAIRS. `batches` collects the pairs of several events, `prompt`
writes the question, `check` drops what the texts do not support. The rules decide; a verdict is evidence.
"""
