"""Every memory is made again from the log, beside what is served or in the place of what is broken.

Start with `rebuild`. `source` gives the events, `derive` makes of one what the workers would publish, and
`replay` applies that to stores of their own (`workspace`). `check` and `parity` compare them with what is
there (`served`). `hand_over` puts them in its place while `helix up` holds the processes that embed and
write, or where none runs (`alone`). May import `stack`, `clients`, `model_build` and `output`.
"""
