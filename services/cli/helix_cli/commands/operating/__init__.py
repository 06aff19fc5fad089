"""Commands of operators: run Helix, look after it, repair it, and say who may use it."""
