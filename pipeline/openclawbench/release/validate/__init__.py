"""Is a release what it says it is? Works on any copy of a release folder and needs nothing else."""
