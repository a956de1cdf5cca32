// Handles members that a target of another dialect cannot receive: hints are left out and told, more is refused, unless the operator decided otherwise.

import type { Losses } from '../dialects/translation.ts';
import { refusal } from '../errors.ts';
import { clientPlace } from './client-place.ts';

/**
 * The policy for members that a provider cannot receive. `reject`: none is left out; `drop`: all are; undefined: hints
 * alone.
 */
export type UnsupportedPolicy = 'reject' | 'drop' | undefined;

/** By this clients of Anthropic know that they must send the whole conversation instead. */
const noThreads = { further: { details: { error_code: 'thread_unsupported_request' } } };

/** Keeps the names of what was left out, each once. */
export class LossList implements Losses {
  readonly dropped: string[] = [];
  readonly #provider: string;
  readonly #policy: UnsupportedPolicy;
  readonly #itemsBefore: number | undefined;

  /** `itemsBefore`: so many items of the input are not the client's own. */
  constructor(provider: string, policy: UnsupportedPolicy, itemsBefore?: number) {
    this.#provider = provider;
    this.#policy = policy;
    this.#itemsBefore = itemsBefore;
  }

  /** Throws 400 `unsupported_parameter` where nothing may be left out. */
  hint(field: string): void {
    if (this.#policy === 'reject') this.#refuse(field, 'it has nothing like it');
    this.#drop(field);
  }

  /** Throws 400 `unsupported_parameter`, which names the place, unless everything may be left out. */
  meaning(field: string, because: string, place = field): void {
    if (this.#policy !== 'drop') this.#refuse(place, because);
    this.#drop(field);
  }

  #drop(named: string): void {
    const field = clientPlace(named, this.#itemsBefore);
    if (!this.dropped.includes(field)) this.dropped.push(field);
  }

  #refuse(place: string, because: string): never {
    const field = clientPlace(place, this.#itemsBefore);
    const fill = { field, provider: this.#provider, because };
    throw refusal('unsupported_parameter', { param: field, fill, ...(place === 'thread' ? noThreads : {}) });
  }
}

/**
 * The members that its provider did not get, by the client's names: those that guardrails left out, and those that its
 * dialect does not have.
 */
export function droppedOf(
  guarding: { readonly leftOut?: readonly string[] } | undefined,
  reading: { readonly translated: { readonly dropped: readonly string[] } } | undefined,
): readonly string[] {
  const dropped = reading?.translated.dropped ?? nothing;
  return guarding?.leftOut?.length ? [...new Set([...guarding.leftOut, ...dropped])] : dropped;
}

const nothing: readonly string[] = [];
/** Longest value of the header, in characters. */
const mostHeader = 1000;

/** The names of what was left out as the value of `x-gateway-dropped`; empty: nothing was. Names are the client's, so only harmless characters stay. */
export function droppedHeader(dropped: readonly string[]): string {
  const names = dropped.map((name) => name.replace(/[^\w.[\]-]/g, '?'));
  const all = names.join(', ');
  return all.length <= mostHeader ? all : `${all.slice(0, mostHeader)}...`;
}
