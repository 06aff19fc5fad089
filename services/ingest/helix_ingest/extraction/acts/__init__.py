"""What the author of a text does with it: the speech act, and the question that a turn answers.

Start with `speech_act`; `answered_question` finds the question, `sentences` tells which sentences ask. May
import `helix_memory`, `helix_shared.text.scripts` and `extraction.values`.
"""
