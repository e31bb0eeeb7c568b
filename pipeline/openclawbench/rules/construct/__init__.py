"""Rules of steps, descriptors, slices, onset candidates and packets."""
