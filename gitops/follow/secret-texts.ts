// Follows what the texts of a configuration refer to: the files of providers (`api_key_file`, `api_key_files`, `ca_file`), `${file:…}` and
// secrets of vaults. They are read with the configuration, and again while it is in force, so that a rotated key needs no restart.
import { setTimeout } from 'node:timers/promises';
import type { AssembledConfig, SecretText } from '../assemble/assembled.ts';
import type { Loaded } from '../assemble/load.ts';
import { problemOfFilled } from '../check/check-filled-text.ts';
import { certificateReader } from '../read/certificate-file.ts';
import { type Problem, sortProblems } from '../read/problem.ts';
import { type SecretReference, textOf } from '../read/secret-reference.ts';
import { FetchedSecret, type Vaults } from './fetched-secret.ts';
import { fillTexts, isKey } from './fill-texts.ts';
import { FollowedSecret } from './followed-secret.ts';
import { consequenceOf, sayTrouble, stays, type Trouble } from './secret-words.ts';

/** A start and a reload wait for vaults for so long; what comes later is put in force then. Milliseconds. */
const patienceMs = 10_000;

/** The changes that one look at everything found. */
export interface SecretChanges {
  readonly renewed: readonly SecretText[];
  /** They cannot be read any more: what was read last stays. */
  readonly lost: readonly Problem[];
  /** They can be read for the first time. */
  readonly found: readonly SecretText[];
}

/** The age of what is in force of a reference. */
export interface SecretAge {
  /** As it is written, without dollar sign and braces. */
  readonly reference: string;
  /** When it was last read, in Unix milliseconds; undefined: never. */
  readonly readAtMs: number | undefined;
}

type Filled = { readonly value: string } | { readonly trouble: Trouble };

/** The texts of a configuration, together with it: what they hold is judged with the settings of their provider. */
interface Texts {
  readonly texts: readonly SecretText[];
  readonly config: AssembledConfig;
}

export class SecretTexts {
  /** By `idOf`. */
  readonly #followed = new Map<string, FollowedSecret | FetchedSecret>();
  readonly #vaults: Vaults;
  readonly #nowMs: () => number;
  /** Of the configuration that was loaded last. */
  #loaded: Texts | undefined;
  /** Undefined before the first configuration is in force. */
  #inForce: Texts | undefined;
  /** They could not be read, so that a configuration was rejected. */
  #wanting: readonly SecretText[] = [];

  constructor(nowMs: () => number, vaults: Vaults) {
    this.#nowMs = nowMs;
    this.#vaults = vaults;
  }

  /** A problem for each text in force of which something cannot be read now. `isMeant`: the texts that are asked for. */
  problems(isMeant: (text: SecretText) => boolean): Problem[] {
    const inForce = this.#inForce;
    if (inForce === undefined) return [];
    return inForce.texts.filter(isMeant).flatMap((text) => {
      const filled = this.#fill(text, inForce.config);
      if ('trouble' in filled) return [this.#warningOf(text, filled.trouble, inForce)];
      const trouble = this.#troubleOf(text);
      return trouble === undefined ? [] : [sayTrouble(text, trouble, stays(text))];
    });
  }

  /** Of the references in force. */
  ages(): SecretAge[] {
    const references = this.#inForce?.texts.filter(({ holds }) => holds === 'text').flatMap(referencesOf) ?? [];
    const byText = new Map(
      references.map((reference) => [textOf(reference), this.#followed.get(idOf(reference, 'text'))]),
    );
    return [...byText].map(([reference, secret]) => ({ reference, readAtMs: secret?.readAtMs }));
  }

  /**
   * Reads what a loaded configuration refers to. What cannot be read leaves out its provider, with a warning, at a start and for as long as
   * it is left out; a guardrail cannot judge. Later it is a problem, because an edit must not end what works.
   */
  async complete(loaded: Loaded): Promise<Loaded> {
    const { config } = loaded;
    const next = config === undefined ? undefined : { config, texts: config.secretTexts ?? [] };
    this.#loaded = next;
    this.#wanting = [];
    if (next === undefined) return loaded;
    await this.#readNew(next.texts);
    const lacking = this.#lackingOf(next);
    const before = this.#inForce === undefined ? lacking : this.#lackingOf(this.#inForce);
    const accepted = new Set(before.map(({ text }) => placeOf(text)));
    const isAccepted = ({ text }: Lacking): boolean => accepted.has(placeOf(text));
    const wanting = lacking.filter((each) => !isAccepted(each));
    this.#wanting = wanting.map(({ text }) => text);
    if (lacking.length === 0) return loaded;
    const warnings = lacking.filter(isAccepted).map(({ text, trouble }) => this.#warningOf(text, trouble, next));
    const said = { warnings: sortProblems([...loaded.warnings, ...warnings]) };
    if (wanting.length === 0) return { ...loaded, ...said };
    const problems = wanting.map(({ text, trouble }) => sayTrouble(text, trouble));
    return { problems: sortProblems([...loaded.problems, ...problems]), ...said };
  }

  /** The configuration with its secrets and without the providers that lack one, which is in force from now on. */
  fill(config: AssembledConfig): AssembledConfig {
    const { secretTexts: texts = [] } = config;
    this.#inForce = { config, texts };
    const wanted = new Set(this.#texts().flatMap(idsOf));
    for (const id of this.#followed.keys()) if (!wanted.has(id)) this.#followed.delete(id);
    const filled = texts.map((text) => {
      const found = this.#fill(text, config);
      const former = idsOf(text).flatMap((id) => this.#followed.get(id)?.former ?? []);
      return { text, value: 'value' in found ? found.value : undefined, former };
    });
    return fillTexts(config, filled);
  }

  /** Looks at everything. */
  async look(): Promise<SecretChanges> {
    const renewed: SecretText[] = [];
    const found: SecretText[] = [];
    const lost: Problem[] = [];
    const byId = this.#textsById();
    for (const [id, secret] of this.#followed) {
      const texts = byId.get(id) ?? [];
      if (texts.length === 0) continue;
      const change = await secret.look();
      this.#noteTime(secret);
      if (change === 'lost')
        lost.push(
          ...texts.flatMap((text) => {
            const trouble = this.#troubleOf(text);
            return trouble === undefined ? [] : [sayTrouble(text, trouble, stays(text))];
          }),
        );
      else if (change === 'found') found.push(...texts);
      else if (change === 'renewed') renewed.push(...texts);
    }
    return { renewed, found, lost };
  }

  #texts(): SecretText[] {
    return [...this.#wanting, ...(this.#loaded?.texts ?? []), ...(this.#inForce?.texts ?? [])];
  }

  /** An entry of a rejected configuration may be at another place in the files than that in force, which counts. */
  #textsById(): Map<string, SecretText[]> {
    const byPlace = new Map(this.#texts().map((text) => [JSON.stringify([placeOf(text), idsOf(text)]), text]));
    const byId = new Map<string, SecretText[]>();
    for (const text of byPlace.values()) {
      for (const id of new Set(idsOf(text))) {
        const texts = byId.get(id) ?? [];
        texts.push(text);
        byId.set(id, texts);
      }
    }
    return byId;
  }

  /** Reads what was never read. Vaults are asked all at once, and not waited for longer than `patienceMs`. */
  async #readNew(texts: readonly SecretText[]): Promise<void> {
    const reading: Promise<void>[] = [];
    for (const text of texts) {
      for (const reference of referencesOf(text)) {
        const id = idOf(reference, text.holds);
        const secret = this.#followed.get(id) ?? this.#follow(id, reference, text.holds);
        this.#followed.set(id, secret);
        if (secret.key === undefined) reading.push(secret.read().then(() => this.#noteTime(secret)));
      }
    }
    const over = new AbortController();
    await Promise.race([
      Promise.all(reading),
      setTimeout(patienceMs, undefined, { signal: over.signal }).catch(() => undefined),
    ]);
    over.abort();
  }

  #follow(id: string, reference: SecretReference, holds: SecretText['holds']): FollowedSecret | FetchedSecret {
    const { scheme, name } = reference;
    if (holds === 'certificates') return new FollowedSecret(name, undefined, undefined, certificateReader());
    const problemOf = (key: string): string | undefined => this.#problemOf(id, key);
    if (scheme === 'file') return new FollowedSecret(name, undefined, problemOf);
    return new FetchedSecret(reference, this.#vaults, { nowMs: this.#nowMs, problemOf });
  }

  /** A vault is asked from time to time, and keeps the time itself. */
  #noteTime(secret: FollowedSecret | FetchedSecret): void {
    if (secret instanceof FollowedSecret && secret.trouble === undefined) secret.readAtMs = this.#nowMs();
  }

  /** Why a secret cannot be used in some text that refers to it. */
  #problemOf(id: string, key: string): string | undefined {
    for (const { texts, config } of [this.#loaded, this.#inForce].filter((each) => each !== undefined)) {
      for (const text of texts) {
        if (!idsOf(text).includes(id)) continue;
        const filled = this.#fill(text, config, { id, key });
        if ('trouble' in filled && filled.trouble.isOfValue) return filled.trouble.says;
      }
    }
    return undefined;
  }

  /** `tried`: a secret that takes the place of the known one. */
  #fill(text: SecretText, config: AssembledConfig, tried?: { readonly id: string; readonly key: string }): Filled {
    let value = '';
    for (const part of text.parts) {
      if (typeof part === 'string') {
        value += part;
        continue;
      }
      const id = idOf(part, text.holds);
      const { key, trouble } = id === tried?.id ? { key: tried.key } : (this.#followed.get(id) ?? {});
      if (key === undefined) return { trouble: { says: trouble ?? unread, reference: part } };
      value += key;
    }
    const problem = text.holds === 'certificates' ? undefined : problemOfFilled(text, value, config);
    const reference = referencesOf(text)[0];
    if (problem === undefined || reference === undefined) return { value };
    return { trouble: { says: `holds what cannot be used: with it the text ${problem}`, reference, isOfValue: true } };
  }

  /** Why something of a text cannot be read now, whether or not there is a value of it. */
  #troubleOf(text: SecretText): Trouble | undefined {
    for (const reference of referencesOf(text)) {
      const says = this.#followed.get(idOf(reference, text.holds))?.trouble;
      if (says !== undefined) return { says, reference };
    }
    return undefined;
  }

  #lackingOf({ texts, config }: Texts): Lacking[] {
    return texts.flatMap((text) => {
      const filled = this.#fill(text, config);
      return 'trouble' in filled ? [{ text, trouble: filled.trouble }] : [];
    });
  }

  /** `texts`: of the same configuration. */
  #warningOf(text: SecretText, trouble: Trouble, { texts, config }: Texts): Problem {
    const isOther = (other: SecretText): boolean =>
      isKey(text) && isKey(other) && other.name === text.name && 'value' in this.#fill(other, config);
    const { [text.name]: provider } = isKey(text) ? config.providers : {};
    const hasWrittenKey = provider?.api_keys?.some((key, index) => key !== '' && !texts.some(isAt(text.name, index)));
    return sayTrouble(text, trouble, consequenceOf(text, hasWrittenKey === true || texts.some(isOther)));
  }
}

interface Lacking {
  readonly text: SecretText;
  readonly trouble: Trouble;
}

const unread = 'cannot be read';

function isAt(provider: string, index: number): (text: SecretText) => boolean {
  return (text) => isKey(text) && text.name === provider && text.at[1] === index;
}

/** What is referred to twice is read once. */
function idOf(reference: SecretReference, holds: SecretText['holds']): string {
  return `${holds === 'certificates' ? 'certificates ' : ''}${textOf(reference)}`;
}

function referencesOf({ parts }: SecretText): SecretReference[] {
  return parts.filter((part) => typeof part !== 'string');
}

function idsOf(text: SecretText): string[] {
  return referencesOf(text).map((reference) => idOf(reference, text.holds));
}

function placeOf({ section, name, at }: SecretText): string {
  return JSON.stringify([section, name, at]);
}
