"""Engines: text in, audio out; audio in, transcripts out. Synchronous, one file each."""
