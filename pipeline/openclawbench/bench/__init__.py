"""Benchmarks: a made-up corpus of any size, and what normalize costs on it. No stage imports from here."""
