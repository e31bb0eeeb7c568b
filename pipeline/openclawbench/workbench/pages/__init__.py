"""The pages: what each address shows, and what its form does."""
