"""FullTax: what is asked of a judge at each stage and what an answer means. Knows nothing of HTTP and nothing of how
evidence was constructed; no oracle outcome and no risk reaches a decision made here."""
