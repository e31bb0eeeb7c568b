"""What goes over the wire: requests, transports, the Batch API, and what a response means."""
