"""What a user sees: terminal output, tables, explanations, dates, time zones, and exit codes.

Start with `terminal`: all text from outside passes through it before it is printed. The text of an error is
written where it is raised. Imports no other room.
"""
