"""Factors by which a graph is changed before it is rounded to int8, so that less is lost."""
