"""State machines of both ends: protocol and flow together, without I/O and without a clock."""
