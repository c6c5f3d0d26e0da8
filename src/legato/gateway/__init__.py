"""The gateway: WebSocket and HTTP on one side, the bus on the other; no model, no GPU."""
