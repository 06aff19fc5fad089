"""`helix-lab relations`: fits and judges how consolidation relates a new statement to earlier ones.

Start with `command`. `gold` has pairs and stories written for this purpose, `labelled` reads them and the
sets with `stale.tsv`; `pairing` makes candidates, `fitting` the model, `judging` the figures.
"""
