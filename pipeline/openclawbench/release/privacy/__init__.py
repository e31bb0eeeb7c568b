"""Secrets and personal data in released text: search, report, masking, and the policy of a release."""
