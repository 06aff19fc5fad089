"""Statements that take a change back: what they contradict, what holds again, what was undone, what stays.

Start with `returning`.
"""
