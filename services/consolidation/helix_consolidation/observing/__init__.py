"""What the writer tells an operator in numbers: `metrics` has them, `observer` reads them now and again."""
