"""CosyVoice 1, 2 and 3 from a local model directory, mended from outside."""
