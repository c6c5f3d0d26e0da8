"""Other people's servers behind the engine port: CosyVoice's runtimes, DashScope, OpenAI's API."""
