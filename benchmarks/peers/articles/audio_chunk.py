"""The articles' protobuf message `AudioChunk {bytes pcm = 1; uint32 seq = 2; bool last = 3;}`."""

from __future__ import annotations

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_FIELD = descriptor_pb2.FieldDescriptorProto
_FILE = descriptor_pb2.FileDescriptorProto(name="chunk.proto", package="articles", syntax="proto3")
_MESSAGE = _FILE.message_type.add(name="AudioChunk")
for _number, (_name, _type) in enumerate(
    (("pcm", _FIELD.TYPE_BYTES), ("seq", _FIELD.TYPE_UINT32), ("last", _FIELD.TYPE_BOOL)), 1
):
    _MESSAGE.field.add(name=_name, number=_number, type=_type, label=_FIELD.LABEL_OPTIONAL)

AudioChunk = message_factory.GetMessageClass(
    descriptor_pool.Default()
    .AddSerializedFile(_FILE.SerializeToString())
    .message_types_by_name["AudioChunk"]
)
