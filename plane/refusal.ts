// How both planes refuse: an entry of their table of errors, its words filled in, on its way to the client (spec "Errors"). Each plane has its own
// table, and its own form of the answer.
import { type ErrorType, printable } from '../schemas/error-type.ts';

/** The default content of a refusal. `{x}` in the message is filled from the details. */
export interface ErrorEntry {
  readonly status: number;
  readonly type: ErrorType;
  readonly message: string;
}

/** Values for the placeholders of a message; of a list, all with commas between them. */
export type Fill = Readonly<Record<string, string | number | readonly string[]>>;

export const entryOf = (status: number, type: ErrorType, message: string): ErrorEntry => ({ status, type, message });
export const bad = (message: string, status = 400): ErrorEntry => entryOf(status, 'invalid_request_error', message);
export const denied = (message: string): ErrorEntry => entryOf(403, 'permission_error', message);
export const missing = (message: string): ErrorEntry => entryOf(404, 'not_found_error', message);

/** The entry with its placeholders filled, each value made harmless: no control characters, at most 200 characters. */
export function worded(entry: ErrorEntry, fill: Fill = {}): ErrorEntry {
  const message = entry.message.replace(/\{(\w+)\}/g, (_, name: string) =>
    [fill[name] ?? '']
      .flat()
      .map((value) => printable(String(value)))
      .join(', '),
  );
  return { ...entry, message };
}

/** Thrown anywhere on the way of a request; the server of the plane answers it. */
export class PlaneRefusal<Code extends string | null> extends Error {
  readonly status: number;
  readonly type: ErrorType;
  /** For programs; null: a provider gave none. */
  readonly code: Code;
  /** Of the answer, besides those of every answer. */
  readonly headers: Readonly<Record<string, string>>;

  constructor({ status, type, message }: ErrorEntry, code: Code, headers: Readonly<Record<string, string>> = {}) {
    super(message);
    this.name = 'Refusal';
    this.status = status;
    this.type = type;
    this.code = code;
    this.headers = headers;
  }
}
