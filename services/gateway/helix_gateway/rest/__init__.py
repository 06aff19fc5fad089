"""REST: the operations as paths below /v1, and their OpenAPI document."""
