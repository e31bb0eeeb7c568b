"""Pages of the documentation that are generated from the code, and the hook that adds them to the site."""
