"""Training of detectors (paper F.10, T42): export of training rows, sampling of epochs, the recipe, LoRA, predictions."""
