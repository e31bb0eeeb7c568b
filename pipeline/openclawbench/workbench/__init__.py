"""The auditor's workbench: trajectories, labels and verdicts in the browser (`openclawbench view`)."""
