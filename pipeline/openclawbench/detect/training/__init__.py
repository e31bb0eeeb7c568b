"""Training of detectors (paper F.10, T42): training rows, draws of the epochs, the recipe, LoRA, predictions."""
