"""What a user sees: terminal output, tables, explanations, dates, time zones, and exit codes.

Start with `terminal`: all text from outside passes through it before it is printed. Imports no other room.
"""
