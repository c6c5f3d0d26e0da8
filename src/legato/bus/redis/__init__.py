"""The bus on Redis Streams: any number of gateways and workers on any number of machines."""

from legato.bus.redis.bus import RedisBus
from legato.bus.redis.config import RedisConfig

__all__ = ["RedisBus", "RedisConfig"]
