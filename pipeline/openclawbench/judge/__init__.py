"""Asking a judge. Knows nothing of FullTax's meaning: questions are texts and schemas, answers are texts."""
