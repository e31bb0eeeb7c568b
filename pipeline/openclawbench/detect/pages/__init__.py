"""The leaderboard of detectors as a report: tables, and pictures."""
