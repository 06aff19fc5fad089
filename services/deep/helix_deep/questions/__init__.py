"""What is the language model asked, and what of its answers is kept?

`kinds` names the stages and the kinds of questions, `subject` is what a question is about, `answers` reads
and checks what comes back. `understand`, `rewrites` and `rerank` each write one question. `model` asks
within the limits of a call, `limits` counts them. Knows no gRPC.
"""
