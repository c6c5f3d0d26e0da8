// Made by scripts/generate_typescript.py from the Python code; change it there.

/** Name in `Sec-WebSocket-Protocol`. */
export const SUBPROTOCOL = "legato.v1";

/** Version of the protocol. */
export const VERSION = 1;

/** Largest message. */
export const MAX_MESSAGE_BYTES = 262_144;

/** Largest position. */
export const MAX_POSITION = Number.MAX_SAFE_INTEGER;

/** What each message of a server holds, and each object inside; `fields.ts` reads it. */
export const SHAPES: Readonly<Record<string, string>> = {
  Heartbeat: `
    idle:period=30.0
    active:period=2.0
    timeout:period=5.0`,
  Limits: `
    resume_window:seconds=30.0
    max_message_bytes:number=262144
    max_streams:number=64
    max_text_chars:number=20000`,
  Quality: `
    rtt:seconds?
    buffered:seconds?
    stalls:number=0`,
  WordTimes: `
    text:text
    start:real
    end:real
    confidence:real?`,
  welcome: `
    version:number
    session_id:text
    resume_token:text
    features:text[]=[]
    limits:Limits={}
    heartbeat:Heartbeat={}`,
  ping: `
    id:position
    time:real=0.0`,
  pong: `
    id:position
    time:real=0.0`,
  stream_started: `
    stream:number=0
    stream_id:text
    task:text
    codec:text="pcm_s16le"
    sample_rate:number
    channels:number=1
    frame_ms:number=20
    streaming:flag=true
    framing:text="protobuf"
    engine:text=""
    voice:text?
    language:text?
    epoch:number=0
    credit_samples:position=0
    credit_chars:position=0
    resumable:flag=true
    received_seq:last_seq=-1
    committed_seq:last_seq=-1`,
  transcript: `
    stream:number=0
    seq:number?
    kind:final|partial
    text:text
    utterance:number=0
    start:position=0
    end:position=0
    words:WordTimes[]=[]
    confidence:real?
    language:text?
    decoding_delay:real?`,
  utterance_end: `
    stream:number=0
    seq:number?
    utterance:number
    reason:cancelled|done|failed
    code:text?
    message:text?
    sample:position=0
    sent_seq:last_seq?`,
  ack: `
    stream:number=0
    received_seq:last_seq=-1
    committed_seq:last_seq=-1
    received_upto:position=0
    committed_upto:position=0
    played_upto:position?
    credit_samples:position?
    credit_chars:position?
    quality:Quality?`,
  notice: `
    stream:number=0
    kind:degraded|queued|recovering|restored
    position:number?
    retry_after:seconds?
    message:text?`,
  flow_control: `
    rate:seconds
    reason:text?
    stream:number?`,
  switch_down: `
    stream:number=0
    seq:number?
    rung:text
    sample:position
    reset:flag=true`,
  switch_up: `
    stream:number=0
    seq:number?
    rung:text
    sample:position
    reset:flag=true`,
  stream_end: `
    stream:number=0
    seq:number?
    frames:number?
    samples:position?
    digest:text?`,
  resumed: `
    stream:number=0
    recovered:flag
    epoch:number=0
    received_seq:last_seq=-1
    missing:position,position?`,
  draining: `
    deadline:seconds
    resume_token:text?`,
  error: `
    code:text
    message:text=""
    retryable:flag=false
    retry_after:seconds?
    stream:number?
    expected:number?
    offer:anything?
    characters:text?
    missing:position,position?`,
};

/** Codes of errors after which the same may succeed later. */
export const RETRYABLE: ReadonlySet<string> = new Set([
  "overloaded",
  "rate_limited",
  "slow_consumer",
  "sequence_gap",
  "draining",
  "engine_failed",
  "engine_timeout",
  "engine_unavailable",
  "bus_unavailable",
  "epoch_changed",
  "connection_lost",
]);

/** What a WebSocket was closed for. */
export const CLOSE_CODES: Readonly<Record<number, string>> = {
  1009: "message_too_large",
  1011: "internal",
  1012: "draining",
  4401: "unauthenticated",
  4403: "forbidden",
  4404: "session_expired",
  4408: "slow_consumer",
  4409: "session_replaced",
  4410: "idle_timeout",
  4429: "rate_limited",
  4503: "overloaded",
};
