// What a condition may ask of a request.
import type { Claims } from './claim-path.ts';

/** The types of the names, as CEL writes them. */
export const factTypes = {
  path: 'string',
  labels: 'list<string>',
  headers: 'map<string, string>',
  endpoint: 'string',
  stream: 'bool',
  tools: 'int',
  images: 'bool',
  tokens: 'int',
  hour: 'int',
  weekday: 'string',
} as const;

export type FactName = keyof typeof factTypes;

export const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;
export type Weekday = (typeof weekdays)[number];

/** The facts of one request. Undefined: not known; then a condition that depends on it is not known, either. */
export interface Facts {
  /** The user path, normalised and in lower case. */
  readonly path: string | undefined;
  /** Those of the key. */
  readonly labels: readonly string[] | undefined;
  /** The path of the endpoint. */
  readonly endpoint: string | undefined;
  /** A stream was asked for. */
  readonly stream: boolean | undefined;
  /** How many tools the request offers. */
  readonly tools: number | undefined;
  /** It holds an image. */
  readonly images: boolean | undefined;
  /** The tokens of its prompt, estimated. */
  readonly tokens: number | undefined;
  /** 0 to 23, in the time zone of the gateway. */
  readonly hour: number | undefined;
  readonly weekday: Weekday | undefined;
  /** Of a token; only in conditions about claims. */
  readonly claims?: Claims;
  /** A header by its name in lower case; the empty text: it was not sent. */
  header(name: string): string | undefined;
}

/** Of a request of which nothing is known but its user path. */
export function onlyPath(path: string): Facts {
  return { ...nothingKnown, path };
}

const nothingKnown: Facts = {
  path: undefined,
  labels: undefined,
  endpoint: undefined,
  stream: undefined,
  tools: undefined,
  images: undefined,
  tokens: undefined,
  hour: undefined,
  weekday: undefined,
  header: () => undefined,
};
