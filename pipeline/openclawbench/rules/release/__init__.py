"""Rules of tiers, splits and near duplicates."""
