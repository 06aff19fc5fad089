"""Statements that reverse a change: what they contradict, what holds again, what was undone, what stays.

Start with `returning`.
"""
