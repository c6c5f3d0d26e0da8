"""How it flows: one small algorithm a file; `now` goes in, decisions come out."""
