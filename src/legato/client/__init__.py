"""The client: connections that heal, streams that go on, audio and text as async iterators."""
