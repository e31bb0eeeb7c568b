"""From the answers of all stages to one annotation: checks, repairs, review cause and tier."""
