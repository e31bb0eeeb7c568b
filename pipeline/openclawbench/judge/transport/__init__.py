"""Requests to an endpoint and their responses: transports, the Batch API, and reading a response."""
