// The calls of a conversation that have no result yet: a result that does not say which call it is of may be that of one of them.

import type { Part, ToolResultPart } from './parts.ts';

export class OpenCalls {
  /** Names by ids, in the order of the calls. */
  readonly #open = new Map<string, string>();

  call({ id, name }: { readonly id: string; readonly name: string }): void {
    this.#open.set(id, name);
  }

  result(callId: string): void {
    this.#open.delete(callId);
  }

  /** The id of the first open call, with this name where it is known; undefined: there is none. */
  first(name: string | undefined): string | undefined {
    for (const [id, called] of this.#open) if (name === undefined || name === called) return id;
    return undefined;
  }
}

/** A result that is that of no call, told by people. */
export function toldResult(name: string | undefined, content: ToolResultPart['content']): readonly Part[] {
  return name === undefined ? content : [{ kind: 'text', text: `Result of ${name}:` }, ...content];
}
