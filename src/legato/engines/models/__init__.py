"""Weights of engines: fetched from a hub, kept in a folder, checked, removed."""
