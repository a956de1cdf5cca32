// The revisions of a request by guardrails, in order: for its record, and for a trial.
import type { RequestRevision } from '../../domain/records/request-record.ts';
import { estimateInput } from '../tokens/estimate.ts';
import type { Guardrail, Verdict } from './guardrail.ts';

/** The memory for revised bodies. */
export interface RevisionRoom {
  /** Whether so many bytes may be held in all. */
  readonly hasRoom: (bytes: number) => boolean;
  /** Also what a later guardrail has taken out. */
  readonly hasOriginals: boolean;
}

/** A revision with what only its record says. */
export interface Revised extends RequestRevision {
  readonly verdict: Verdict;
  /** The revised body; undefined: unchanged, or not held. */
  readonly made: Buffer | undefined;
}

/** Kinds that take nothing out: what they get is in what they give. */
const adding: ReadonlySet<string> = new Set(['system_prompt', 'limits']);

export class Revisions {
  readonly #all: Revised[] = [];
  readonly #room: RevisionRoom | undefined;
  #heldBytes = 0;

  /** `room` undefined: no bodies are recorded. */
  constructor(room: RevisionRoom | undefined) {
    this.#room = room;
  }

  get all(): readonly Revised[] {
    return this.#all;
  }

  /** Notes what an enforced guardrail says of a request, and what it made of it. */
  note({ name, kind }: Guardrail, verdict: Verdict, before: Buffer, after: Buffer): void {
    const isSame = verdict.outcome !== 'revise';
    const isTaken = !isSame && !adding.has(kind);
    if (isTaken) this.forgetMade();
    this.#all.push({
      seq: this.#all.length + 1,
      rewriter: name,
      bytes_before: before.length,
      bytes_after: after.length,
      tokens_saved: isSame ? 0 : estimateInput(before) - estimateInput(after),
      no_change: isSame,
      verdict,
      made: isSame || !this.#holds(after) ? undefined : after,
    });
  }

  #holds({ length }: Buffer): boolean {
    if (this.#room?.hasRoom(this.#heldBytes + length) !== true) return false;
    this.#heldBytes += length;
    return true;
  }

  /** Drops the revised bodies so far, which hold the text that was just removed or refused. */
  forgetMade(): void {
    if (this.#room?.hasOriginals === true) return;
    for (const [index, revised] of this.#all.entries()) this.#all[index] = { ...revised, made: undefined };
    this.#heldBytes = 0;
  }
}

/** Without what only a record says. */
export function plainRevision({ verdict: _verdict, made: _made, ...revision }: Revised): RequestRevision {
  return revision;
}
