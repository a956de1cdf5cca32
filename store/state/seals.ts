// The keys that documents are sealed with, and which of them counts when: the master key, the one before it by settings, and those
// before it that were renewed while the process ran.
import type { KeyObject } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { entryIn, inOrder } from '../../domain/documents/order.ts';
import { isSealed, sealKey, sealMark, sealOf } from './seal.ts';
import type { ItemKeys } from './sealed-items.ts';
import { bodyText, type Document, type DocumentKey, type SkippedDocument, type StoredState } from './state-store.ts';

export interface MasterKeys {
  /** Undefined: nothing is sealed, and every document is taken as it is. */
  readonly masterKey: string | undefined;
  /** Documents sealed by it are in force too, and should be sealed anew. */
  readonly previousMasterKey?: string | undefined;
}

export interface SealOptions extends MasterKeys {
  /** Documents without any seal are in force too, until `stopAdopting`, and should be sealed. Default false. */
  readonly adoptsUnsigned?: boolean;
  /**
   * Whether a live proxy works with the master key of this mark. While one works with a former key, documents are sealed with that key,
   * because this proxy knows no other. Default: none does.
   */
  readonly isInUse?: (mark: string) => boolean;
}

/** The member of a stored body that holds the seal: versions that know nothing of it pass it over. */
const member = 'seal';
/** Documents checked at once: they hold the process up for a few milliseconds. */
const checkedAtOnce = 100;
/** Keys that were renewed while the process ran and still count for seals. */
const mostFormer = 2;

interface MarkedKey {
  readonly key: KeyObject;
  readonly mark: string;
}

export class Seals {
  #current: MarkedKey | undefined;
  #previous: MarkedKey | undefined;
  /** Renewed while the process ran, the latest first; until every document has the seal of the current key. */
  #former: readonly MarkedKey[] = [];
  #adopts: boolean;
  readonly #isInUse: (mark: string) => boolean;
  /** Sorted, as `open` gave them last: their bodies are compared instead of read and verified again. */
  #known: readonly Document[] = [];
  /** Another object whenever other keys count; and the one of when those documents were verified. */
  #terms: object = {};
  #knownTerms: object | undefined;

  constructor({ masterKey, previousMasterKey, adoptsUnsigned = false, isInUse = () => false }: SealOptions) {
    this.#current = markedKey(masterKey);
    this.#previous = markedKey(previousMasterKey);
    this.#adopts = adoptsUnsigned;
    this.#isInUse = isInUse;
  }

  /** Of the master key; undefined without one. */
  get mark(): string | undefined {
    return this.#current?.mark;
  }

  /** The keys that seal items, and those that verify their seals. */
  get itemKeys(): ItemKeys {
    const current = this.#current === undefined ? [] : [this.#current];
    const sealing = this.#awaited() ?? this.#current;
    return { sealing: sealing?.key, opening: [...current, ...this.#older()].map(({ key }) => key) };
  }

  /** The mark of a former key that a live proxy works with. */
  get awaited(): string | undefined {
    return this.#awaited()?.mark;
  }

  renew({ masterKey, previousMasterKey }: MasterKeys): void {
    const before = this.#current;
    this.#current = markedKey(masterKey);
    this.#previous = markedKey(previousMasterKey);
    const isOther = before !== undefined && before.mark !== this.#current?.mark;
    if (isOther) this.#former = [before, ...this.#former].slice(0, mostFormer);
    this.#former = this.#former.filter(({ mark }) => mark !== this.#current?.mark);
    this.#terms = {};
  }

  /** Documents are in force that will not be any more once all are sealed: single changes do not tell when. */
  get isChanging(): boolean {
    return this.#adopts || this.#former.length > 0 || this.#knownTerms !== this.#terms;
  }

  /** Every document is sealed: one without the seal of a key of the settings is not taken over any more. */
  settle(): void {
    if (this.#adopts || this.#former.length > 0) this.#terms = {};
    this.#adopts = false;
    this.#former = [];
  }

  /** The body with its seal; without a master key as it is. */
  seal(key: DocumentKey, body: unknown): unknown {
    const sealing = this.#awaited() ?? this.#current;
    if (sealing === undefined) return body;
    if (!isObject(body)) throw new TypeError('the body of a document that is sealed must be an object');
    // Members that JSON leaves out are not sealed.
    const { [member]: _, ...plain } = JSON.parse(bodyText(body)) as Record<string, unknown>;
    return { ...plain, [member]: sealOf(sealing.key, key, plain) };
  }

  /** A document of this body as `open` gives it, without checking a seal that this process has made. */
  asRead(document: Document): Document {
    const plain = unwrapped(document);
    const isCurrent =
      this.#current === undefined ||
      (plain.seal !== undefined && isSealed(this.#current.key, plain, plain.body, plain.seal));
    return isCurrent ? plain : { ...plain, isOutdated: true };
  }

  /** The whole state, its documents plain, their seals beside them; those without a good one are in `skipped`. */
  async open(state: StoredState): Promise<StoredState> {
    const terms = this.#terms;
    const opened = await this.openEach(state);
    if (this.#terms === terms) {
      const { documents } = opened;
      [this.#known, this.#knownTerms] = [documents, terms];
      // The control plane that sealed them has the new key, and so has every proxy that it knows of.
      if (documents.length > 0 && documents.every(({ isOutdated }) => isOutdated !== true)) this.#former = [];
    }
    return opened;
  }

  /** As `open`, some documents of a state. */
  async openEach<Some extends Pick<StoredState, 'documents' | 'skipped'>>(some: Some): Promise<Some> {
    const documents: Document[] = [];
    const unsealed: SkippedDocument[] = [];
    let number = 0;
    for (const stored of some.documents) {
      number += 1;
      if (number % checkedAtOnce === 0) await setImmediate();
      const document = this.#opened(unwrapped(stored));
      if (document === undefined) unsealed.push({ kind: stored.kind, id: stored.id, isUnsealed: true });
      else documents.push(document);
    }
    return { ...some, documents, skipped: [...some.skipped, ...unsealed].sort(inOrder) };
  }

  /** Undefined without a good seal. What has not changed is the same object as before, or at least its body is. */
  #opened(given: Document): Document | undefined {
    const found = entryIn(this.#known, given);
    const text = jsonText(given.body);
    if (text === undefined) return undefined;
    const known = found !== undefined && jsonText(found.body) === text ? found : undefined;
    const isVerified = this.#knownTerms === this.#terms && known !== undefined && known.seal === given.seal;
    const isOutdated = isVerified ? known.isOutdated === true : this.#needsSeal(given);
    if (isOutdated === undefined) return undefined;
    const isSame = isVerified && known.revision === given.revision;
    if (isSame) return known;
    const document = known === undefined ? given : { ...given, body: known.body };
    return isOutdated ? { ...document, isOutdated } : document;
  }

  /** Whether the document should be sealed anew; undefined when its seal is not good. */
  #needsSeal(document: Document): boolean | undefined {
    const { body, seal: given } = document;
    if (this.#current === undefined) return false;
    if (given === undefined) return this.#adopts ? true : undefined;
    try {
      if (isSealed(this.#current.key, document, body, given)) return false;
      return this.#older().some(({ key }) => isSealed(key, document, body, given)) ? true : undefined;
    } catch (error) {
      // Nested too deep.
      if (error instanceof RangeError) return undefined;
      throw error;
    }
  }

  #older(): readonly MarkedKey[] {
    return this.#previous === undefined ? this.#former : [...this.#former, this.#previous];
  }

  #awaited(): MarkedKey | undefined {
    return this.#older().find(({ mark }) => mark !== this.#current?.mark && this.#isInUse(mark));
  }
}

function markedKey(masterKey: string | undefined): MarkedKey | undefined {
  if (masterKey === undefined) return undefined;
  const key = sealKey(masterKey);
  return { key, mark: sealMark(key) };
}

/** The body with a seal that it had, for a process without a key. */
export function withSeal(body: Readonly<Record<string, unknown>>, seal: string): object {
  return { ...body, [member]: seal };
}

/** The seal beside the body, whether it came inside it, as it lies in a store, or beside it, as it lies in a copy. */
function unwrapped({ kind, id, revision, body, seal }: Document): Document {
  if (seal !== undefined) return { kind, id, revision, body, seal };
  if (!isObject(body) || typeof body[member] !== 'string') return { kind, id, revision, body };
  const { [member]: inside, ...plain } = body;
  return { kind, id, revision, body: plain, seal: inside };
}

/** Undefined for what is nested so deep that nothing of ours can have written it. */
function jsonText(body: unknown): string | undefined {
  try {
    return JSON.stringify(body);
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

export function isObject(body: unknown): body is Readonly<Record<string, unknown>> {
  return typeof body === 'object' && body !== null && !Array.isArray(body);
}
