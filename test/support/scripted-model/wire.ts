// What a dialect is to a scripted model: how it reads a request, and how it writes what the model says.
import type { Members } from './checks.ts';
import type { Heard } from './heard.ts';
import type { Saying } from './scenarios.ts';

/** A request as it came. */
export interface Received {
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Members;
}

/** What the model says, and to whom. */
export interface Said {
  readonly saying: Saying;
  readonly heard: Heard;
  /** Another one for each answer. */
  readonly number: number;
}

export interface Wire {
  readonly name: 'chat' | 'responses' | 'messages' | 'gemini' | 'bedrock';
  /** The model's id at the provider. */
  readonly model: string;
  readonly streamType: string;
  /** Throws a Refused. */
  read(received: Received): Heard;
  answer(said: Said): object;
  /** Events, each with its framing. */
  stream(said: Said): readonly (string | Buffer)[];
  /** An error that comes in the middle of a stream. */
  failure(message: string): string | Buffer;
  error(status: number, message: string): object;
}

/** A text in pieces of a few characters, without cutting one in two. */
export function deltasOf(text: string, length = 7): readonly string[] {
  const characters = Array.from(text);
  const pieces: string[] = [];
  for (let start = 0; start < characters.length; start += length) {
    pieces.push(characters.slice(start, start + length).join(''));
  }
  return pieces;
}

/** A server-sent event. */
export function sse(data: object, event?: string): string {
  return `${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(data)}\n\n`;
}
