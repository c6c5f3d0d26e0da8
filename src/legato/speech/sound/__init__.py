"""What is done to an engine's sound before it is sent: level, edges and peaks."""
