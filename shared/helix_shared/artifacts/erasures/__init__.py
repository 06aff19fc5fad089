"""Receipts of erasures, in every generation; `receipts` has their form, writer and reader."""
