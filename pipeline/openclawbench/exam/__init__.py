"""The exam of a judge: pairs of sessions that differ in one planted fact, and what a judge makes of them."""
