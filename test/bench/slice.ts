// What the load client is told on a line of its stdin, and what it answers: the words both processes share.
import type { Workload } from './workload.ts';

/** A slice of load on one target. It ends when the time is over or the requests are through, whichever is first; what is
 *  under way then is waited for. */
export interface Slice {
  /** `http://127.0.0.1:PORT` */
  readonly url: string;
  readonly workload: Workload;
  /** Requests side by side; with a `rate` the connections there are at first. */
  readonly connections: number;
  readonly seconds: number;
  /** The most requests to send. */
  readonly requests?: number;
  /** Open loop: requests per second, sent when they are due, whether or not earlier ones are answered. */
  readonly rate?: number;
  /** Open loop: the most connections that may be opened; requests wait when all are busy. Default: 1,000. */
  readonly mostConnections?: number;
  /** Closed loop: so many managed keys in turn instead of the master key (`keySecret`). */
  readonly keys?: number;
}

/** What the client saw. Latency is to the last byte, from the moment the request was due. Milliseconds. */
export interface LoadResult {
  requests: number;
  /** Events received, of all streams together. */
  events: number;
  seconds: number;
  p50Ms: number;
  p90Ms: number;
  p99Ms: number;
  p999Ms: number;
  /** To the first event of a stream; for JSON the same as to the last byte. */
  firstP50Ms: number;
  firstP99Ms: number;
  /** Statuses other than 2xx, answers with too few or too many events, lost connections. */
  failures: number;
  /** Mean length of an answer with its head. Bytes. */
  meanBytes: number;
}

/** Streams that stay open: how many there are, and the events that came of them while it was watched. */
export interface HeldStreams {
  open: number;
  events: number;
  /** What went wrong first, when not all could be opened or stayed open. */
  problem?: string;
}

/** One line of stdin. `open` opens connections that a slice will need, so that it does not count their opening. */
export type Command =
  | { readonly do: 'open'; readonly url: string; readonly connections: number }
  | { readonly do: 'slice'; readonly slice: Slice }
  | { readonly do: 'hold'; readonly url: string; readonly streams: number }
  | { readonly do: 'watch'; readonly url: string; readonly seconds: number }
  | { readonly do: 'close'; readonly url: string };

/** One line of stdout. */
export type Reply = { readonly done: LoadResult | HeldStreams | null } | { readonly error: string };
