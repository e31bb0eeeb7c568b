"""One module per oracle format, each giving OracleRecords. The oracle is an input with provenance."""
