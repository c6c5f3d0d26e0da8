"""Audio in other rates and containers: `resample`, `files` (anything FFmpeg reads), `wav`."""
