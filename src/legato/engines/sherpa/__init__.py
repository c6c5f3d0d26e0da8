"""Models of sherpa-onnx: recognition and speech from model directories of the user."""
