// The calls of a conversation that a client tells, and which of them have no result yet: a result may not say which call it is of.

import type { Part, ToolResultPart } from './parts.ts';

export class OpenCalls {
  /** Names by ids, in the order of the calls. */
  readonly #open = new Map<string, string>();
  #count = 0;

  /** The id of the next call: `given`, else one that is the same each time the conversation is told. */
  call(given: string | undefined, name: string): string {
    const id = given || `call_${this.#count}_${name}`;
    this.#count += 1;
    this.#open.set(id, name);
    return id;
  }

  /** The call that a result is of: `given`, else the first open one, with this name where it is known; undefined: there is none. */
  result(given: string | undefined, name?: string): string | undefined {
    const id = given || this.#first(name);
    if (id !== undefined) this.#open.delete(id);
    return id;
  }

  #first(name: string | undefined): string | undefined {
    for (const [id, called] of this.#open) if (name === undefined || name === called) return id;
    return undefined;
  }
}

/** A result that is that of no call, told by people. */
export function toldResult(
  name: string | undefined,
  content: ToolResultPart['content'],
  isError: boolean = false,
): readonly Part[] {
  return [{ kind: 'text', text: `${isError ? 'Error' : 'Result'} of ${name ?? 'a tool'}:` }, ...content];
}
