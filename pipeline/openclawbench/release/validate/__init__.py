"""Is a release what it says it is? Works on any copy of a release folder with nothing else at hand."""
