"""Every memory is made again from the log, with another model, beside the generation that is served.

Start with `reembed`. `derive` makes of an event what the workers would publish, `replay` reads the log and
applies that to stores of their own (`workspace`), `hand_over` puts them in the place of those of the data
folder while `helix up` holds the processes that embed and write. May import `stack`, `clients`, `model_build`
and `output`.
"""
