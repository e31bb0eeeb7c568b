"""The ledger: every answer that was paid for, kept verbatim in SQLite."""
