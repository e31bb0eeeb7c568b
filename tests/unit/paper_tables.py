"""Tables of the paper that several tests feed in or compare with: counts, and the percentages printed beside them."""

T14 = {
    "pass_low_risk": (26_541, 84.89),
    "pass_medium_risk": (2_690, 8.60),
    "pass_high_risk": (1_904, 6.09),
    "fail_low_risk": (42, 0.13),
    "fail_medium_risk": (23, 0.07),
    "fail_high_risk": (64, 0.20),
}
T31 = {
    "high_confidence_accepted": (29_884, 95.59),
    "accepted_repaired": (514, 1.64),
    "review_or_unresolved": (866, 2.77),
}
