"""Names of types."""

GORILLA_TO_OPENAPI: dict[str, str] = {}
