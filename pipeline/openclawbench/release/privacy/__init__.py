"""Secrets and personal data in released text: found, reported, masked, and what a release does about them."""
