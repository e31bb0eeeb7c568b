"""Asking a language model: the engine, retries, rate limits, concurrency, budget, cost estimate, batch runs."""
