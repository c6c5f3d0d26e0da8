// Made by scripts/generate_typescript.py from the Python code; change it there.

/**
 * The messages of `legato.v1` as TypeScript sees them. What a server sends has its defaults filled
 * in; in what only a client sends, fields with a default may be left out. Durations are seconds,
 * positions are samples.
 */

/**
 * Where a client goes on with a stream whose history the server has lost. Numbers begin anew and
 * positions go on. What a client says again begins with `sample` or, in a synthesis, with the text
 * of `utterance`; what it holds already is not sent to it again.
 */
export interface Continuation {
  /** Incarnation of the history that begins with it, 1 or more. */
  epoch: number;
  /** That would have resumed the stream; needed where the server still has some of it. */
  token?: string | undefined;
  /** Number of the first utterance that something is said of again. */
  utterance?: number | undefined;
  /** Whether that had begun with what is not said again. */
  speaking?: boolean | undefined;
  /** Position in up of the first sample that is said again. */
  sample?: number | undefined;
  /** Position in down at which that utterance began. */
  utterance_sample?: number | undefined;
  /** Samples of down that the client holds. */
  received_upto?: number | undefined;
}

/** When the server ends a segment of speech by itself. */
export interface EndpointingSettings {
  /** Seconds of silence; null leaves it to `finalize`. */
  silence?: number | null | undefined;
  /** Speech probability, 0 to 1. */
  threshold?: number | undefined;
}

/** When the client pings. */
export interface Heartbeat {
  /** Seconds between pings while no stream is open. */
  idle: number;
  /** Seconds without ack or data, while one is, until a ping. */
  active: number;
  /** Seconds without a pong until the connection counts as lost. */
  timeout: number;
}

/** What the server allows. */
export interface Limits {
  /** Seconds a stream outlives its connection. */
  resume_window: number;
  /** Largest WebSocket message. */
  max_message_bytes: number;
  /** Open streams of one connection. */
  max_streams: number;
  /** Characters of one utterance. */
  max_text_chars: number;
}

/** What a client believes of its network; a prior, never a measurement. */
export interface NetworkHint {
  /** As `navigator.connection` names it: slow-2g, 2g, 3g or 4g. */
  effective_type?: string | undefined;
  /** Round-trip time in seconds. */
  rtt?: number | undefined;
  /** Kilobits per second. */
  downlink_kbps?: number | undefined;
  /** Whether the user asked to save data. */
  save_data?: boolean | undefined;
}

/** What a listener measured since its last ack. */
export interface Quality {
  /** Seconds. */
  rtt?: number | undefined;
  /** Seconds of audio waiting to be played. */
  buffered?: number | undefined;
  /** Underruns so far. */
  stalls: number;
}

/** One word of a transcript. */
export interface WordTimes {
  /** As read. */
  text: string;
  /** Seconds from the stream's start. */
  start: number;
  /** Seconds from the stream's start. */
  end: number;
  /** 0 to 1 where the engine gives it. */
  confidence?: number;
}

/** Opens the session. */
export interface Hello {
  type: "hello";
  /** Protocol version, 1. */
  version: number;
  /** Optional abilities of the sender; unknown ones are ignored. */
  features?: string[] | undefined;
  /** Key, where the transport's header cannot carry it. */
  auth?: string | undefined;
  /** Name and version of the client software. */
  client?: string | undefined;
  /** Prior for the first second. */
  network_hint?: NetworkHint | undefined;
}

/** Asks for a pong; answered by the receive loop. */
export interface Ping {
  type: "ping";
  /** Returned as it is. */
  id: number;
  /** The sender's clock in seconds, returned as it is. */
  time: number;
}

/** Answers a ping. */
export interface Pong {
  type: "pong";
  /** Of the ping. */
  id: number;
  /** Of the ping. */
  time: number;
}

/** Announces a stream; repeated with the same parameters it returns the running one's state. */
export interface StreamStart {
  type: "stream_start";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream?: number | undefined;
  /** Unique within the tenant: 1 to 64 of A-Z a-z 0-9 _ . -, first alphanumeric. */
  stream_id: string;
  /** `synthesize`, `recognize` or `echo`. */
  task: string;
  /** Of the audio, either way: `pcm_s16le`, `mulaw`, `alaw` or `opus`. */
  codec?: string | undefined;
  /** Hz, 8,000 to 48,000. */
  sample_rate?: number | undefined;
  /** 1 or 2. */
  channels?: number | undefined;
  /** Milliseconds of a full frame, 10 to 200; of a packet of `opus` 10, 20, 40 or 60. */
  frame_ms?: number | undefined;
  /** False returns the whole utterance at once. */
  streaming?: boolean | undefined;
  /** `protobuf`, or `raw` for bare PCM on a connection of its own. */
  framing?: string | undefined;
  /** Name, or absent for the server's choice. */
  engine?: string | undefined;
  /** Name, or absent for the engine's default. */
  voice?: string | undefined;
  /** BCP 47 tag; in a recognition also `auto`, for an engine that finds it out. */
  language?: string | undefined;
  /** Speaking rate, 0.5 to 2.0. */
  speed?: number | undefined;
  /** When a recognizer ends segments by itself. */
  endpointing?: EndpointingSettings | undefined;
  /** Words to favour, for an engine that can. */
  hotwords?: string[] | undefined;
  /**
   * Engine-specific, but for `markup`, `reading`, `strip` and `lexicon`, which say how the text of
   * a synthesis is read, and `sound` and `cache`, what is done to its sound, and `bitrate`, of
   * Opus.
   */
  options?: Record<string, unknown> | undefined;
  /** Where to go on, after `epoch_changed` or a server that knows nothing any more. */
  continues?: Continuation | undefined;
}

/** A piece of text to speak. */
export interface Text {
  type: "text";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream?: number | undefined;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number | undefined;
  /** Joined to the pieces before it as it is. */
  text: string;
}

/** Speak (or make final) what is there; the utterance goes on. */
export interface Flush {
  type: "flush";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream?: number | undefined;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number | undefined;
}

/** End the utterance now. */
export interface Finalize {
  type: "finalize";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream?: number | undefined;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number | undefined;
  /** In recognition, the position after its last sample. */
  sample?: number | undefined;
}

/** What the sender of the ack holds, and how far its peer may go. */
export interface Ack {
  type: "ack";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** Last entry in the log, inclusive; -1 for none. */
  received_seq: number;
  /** Last entry done with, inclusive; -1 for none. */
  committed_seq: number;
  /** Samples received, exclusive. */
  received_upto: number;
  /** Samples done with, exclusive. */
  committed_upto: number;
  /** From a listener: samples heard, exclusive. */
  played_upto?: number | undefined;
  /** Absolute. */
  credit_samples?: number | undefined;
  /** Absolute. */
  credit_chars?: number | undefined;
  /** What the listener measured. */
  quality?: Quality | undefined;
}

/** A pace that holds until the next one. */
export interface FlowControl {
  type: "flow_control";
  /** Multiples of real time; 0 stops audio, never control or text. */
  rate: number;
  /** For logs. */
  reason?: string | undefined;
  /** One stream, or absent for all. */
  stream?: number | undefined;
}

/**
 * A lower rung of the bitrate ladder holds from here on. Where `reset` is true, an encoder begins,
 * and so must the listener's decoder.
 */
export interface SwitchDown {
  type: "switch_down";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number | undefined;
  /** Its name. */
  rung: string;
  /** Position of the first frame on it. */
  sample: number;
  /** Whether a new encoder begins there. */
  reset: boolean;
}

/**
 * A higher rung of the bitrate ladder holds from here on, or the first one. Where `reset` is true,
 * an encoder begins, and so must the listener's decoder.
 */
export interface SwitchUp {
  type: "switch_up";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number | undefined;
  /** Its name. */
  rung: string;
  /** Position of the first frame on it. */
  sample: number;
  /** Whether a new encoder begins there. */
  reset: boolean;
}

/** Stop an utterance; no sample of it plays after the call. */
export interface Cancel {
  type: "cancel";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream?: number | undefined;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number | undefined;
  /** Its number. */
  utterance: number;
  /** Samples that the listener heard, exclusive. */
  played_upto?: number | undefined;
}

/** From the client: no more input. From the server: everything was delivered. */
export interface StreamEnd {
  type: "stream_end";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number | undefined;
  /** Audio frames of the direction. */
  frames?: number | undefined;
  /** Samples of the direction. */
  samples?: number | undefined;
  /** Chain over the payloads put on the wire, 64 hex digits (rule 8). */
  digest?: string | undefined;
}

/** End now and delete all data of the stream. */
export interface Stop {
  type: "stop";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream?: number | undefined;
}

/** Go on with a stream on this connection. */
export interface Resume {
  type: "resume";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream?: number | undefined;
  /** The stream. */
  stream_id: string;
  /** The last resume token given. */
  token: string;
  /** The incarnation that the client knows. */
  epoch?: number | undefined;
  /** Last entry that the client holds of down, -1 for none. */
  received_seq?: number | undefined;
  /** Last entry that the client has sent of up, -1 for none. */
  sent_seq?: number | undefined;
}

/** Answers hello. */
export interface Welcome {
  type: "welcome";
  /** Protocol version spoken from here on. */
  version: number;
  /** For logs and support. */
  session_id: string;
  /** For `resume` on a later connection; the last one given is valid. */
  resume_token: string;
  /** Abilities that both sides have. */
  features: string[];
  /** What the server allows. */
  limits: Limits;
  /** When to ping. */
  heartbeat: Heartbeat;
}

/** The stream runs with these parameters. */
export interface StreamStarted {
  type: "stream_started";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** As asked. */
  stream_id: string;
  /** As asked. */
  task: string;
  /** Of the audio, either way. */
  codec: string;
  /** Hz. */
  sample_rate: number;
  /** 1 or 2. */
  channels: number;
  /** Milliseconds of a full frame. */
  frame_ms: number;
  /** As accepted. */
  streaming: boolean;
  /** As accepted. */
  framing: string;
  /** The one chosen. */
  engine: string;
  /** The one chosen, for synthesis. */
  voice?: string;
  /** As asked. */
  language?: string;
  /** Incarnation of the stream's history. */
  epoch: number;
  /** Samples that may be sent, absolute from the stream's start. */
  credit_samples: number;
  /** Characters that may be sent, absolute. */
  credit_chars: number;
  /** Whether `resume` works for it. */
  resumable: boolean;
  /** For a repeated start: last entry in the log, else -1. */
  received_seq: number;
  /** For a repeated start: last entry done with, else -1. */
  committed_seq: number;
}

/** Text heard. */
export interface Transcript {
  type: "transcript";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number;
  /** A `partial` may change; a `final` never does. */
  kind: "final" | "partial";
  /** As read. */
  text: string;
  /** Number of the utterance. */
  utterance: number;
  /** First sample of the segment. */
  start: number;
  /** Sample after the last one heard. */
  end: number;
  /** With times where the engine gives them. */
  words: WordTimes[];
  /** 0 to 1 where the engine gives it. */
  confidence?: number;
  /** BCP 47 tag where known. */
  language?: string;
  /** Seconds from the arrival of the last sample heard to this text. */
  decoding_delay?: number;
}

/** An utterance is over. */
export interface UtteranceEnd {
  type: "utterance_end";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** Place in the direction's history, from 0; absent in raw framing. */
  seq?: number;
  /** Its number. */
  utterance: number;
  /** `done`, `cancelled`, or `failed` with `code` and `message`. */
  reason: "cancelled" | "done" | "failed";
  /** Error code of a failure. */
  code?: string;
  /** Sentence of a failure. */
  message?: string;
  /** Where the next utterance goes on. */
  sample: number;
  /** When cancelled: the last entry sent before the hole, which is no loss; -1: none. */
  sent_seq?: number;
}

/** News that needs no answer. */
export interface Notice {
  type: "notice";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** `queued`, `recovering`, `degraded` or `restored`. */
  kind: "degraded" | "queued" | "recovering" | "restored";
  /** Place in the queue. */
  position?: number;
  /** Estimated seconds. */
  retry_after?: number;
  /** For a person. */
  message?: string;
}

/** The stream goes on; both sides resend from their peer's `received_seq` + 1. */
export interface Resumed {
  type: "resumed";
  /** The stream's number on this connection; 0 or absent means the only one. */
  stream: number;
  /** False if history was lost. */
  recovered: boolean;
  /** Incarnation from here on. */
  epoch: number;
  /** Last entry that the server holds of up. */
  received_seq: number;
  /** Lost range [from, to) in samples, or in seq for text. */
  missing?: [number, number];
}

/** The server goes away. */
export interface Draining {
  type: "draining";
  /** Seconds until it closes the connection. */
  deadline: number;
  /** Valid at any other server. */
  resume_token?: string;
}

/** Something failed; `docs/errors.md` lists the codes. */
export interface ErrorMessage {
  type: "error";
  /** Stable name. */
  code: string;
  /** What happened and what to do. */
  message: string;
  /** Whether the same may succeed later. */
  retryable: boolean;
  /** Seconds to wait. */
  retry_after?: number;
  /** The stream concerned, or absent for the session. */
  stream?: number;
  /** For `sequence_gap`: where to go on. */
  expected?: number;
  /** For `overloaded`: what would be accepted. */
  offer?: Record<string, unknown>;
  /** For `unsupported_text`: what cannot be spoken. */
  characters?: string;
  /** For `resume_gap`: the lost range. */
  missing?: [number, number];
}

/** What a client may send. */
export type ClientMessage =
  | Hello
  | Ping
  | Pong
  | StreamStart
  | Text
  | Flush
  | Finalize
  | Ack
  | FlowControl
  | SwitchDown
  | SwitchUp
  | Cancel
  | StreamEnd
  | Stop
  | Resume;

/** What a server may send. */
export type ServerMessage =
  | Welcome
  | Ping
  | Pong
  | StreamStarted
  | Transcript
  | UtteranceEnd
  | Ack
  | Notice
  | FlowControl
  | SwitchDown
  | SwitchUp
  | StreamEnd
  | Resumed
  | Draining
  | ErrorMessage;

/** Entries of a stream's history beside audio. */
export type NumberedMessage =
  | Text
  | Flush
  | Finalize
  | SwitchDown
  | SwitchUp
  | Cancel
  | StreamEnd
  | Transcript
  | UtteranceEnd;

/** Any message. */
export type Message = ClientMessage | ServerMessage;
