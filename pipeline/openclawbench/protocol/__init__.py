"""The annotation protocol: one section a rule, from which prompts, guides and pages are rendered."""
