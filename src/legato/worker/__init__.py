"""The worker: claims jobs from the bus and has engines do them."""
