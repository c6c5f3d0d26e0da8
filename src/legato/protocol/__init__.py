"""What is said on the wire: messages, audio frames, their codec, and the version."""
