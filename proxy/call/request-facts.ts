// What conditions may ask of a request, each fact worked out when a condition first needs it.
import type { Facts, Weekday } from '../../domain/conditions/facts.ts';
import type { LocalTime } from '../../domain/conditions/local-time.ts';
import { memberNamed } from '../bytes/member-named.ts';
import { standsIn } from '../bytes/outside-texts.ts';
import { estimateInput } from '../tokens/estimate.ts';
import type { Said } from './beginning.ts';
import { isNamed } from './head.ts';

/** The request, as far as it is known when its name is resolved. */
export interface FactSources {
  readonly caller: { readonly userPath: string; readonly labels?: readonly string[] | undefined };
  /** The path of the endpoint. */
  readonly endpoint: string;
  readonly stream: boolean;
  /** Names and values in turn. */
  readonly rawHeaders: readonly string[];
  /** Its JSON; undefined: it has none, or that was not read. It has no tools, images and tokens then. */
  readonly said: Said | undefined;
  readonly localTime: LocalTime;
  /** When it came. Unix milliseconds. */
  readonly startedAtMs: number;
}

const noLabels: readonly string[] = [];
/** The members that hold what is said. */
const saying = ['messages', 'input'];
/** How the parts of all formats name an image, as JSON is written with and without a space. */
const images = ['"image_url"', '"input_image"', '"type":"image"', '"type": "image"'].map((text) => Buffer.from(text));
/** A part of all these: an m is rarer than an i, at which a search would stop each time. */
const hint = Buffer.from('mage');
const shortBytes = 64 * 1024;

export class RequestFacts implements Facts {
  readonly #of: FactSources;
  #tokens: number | undefined;

  constructor(of: FactSources) {
    this.#of = of;
  }

  get path(): string {
    return this.#of.caller.userPath;
  }

  get labels(): readonly string[] {
    return this.#of.caller.labels ?? noLabels;
  }

  get endpoint(): string {
    return this.#of.endpoint;
  }

  get stream(): boolean {
    return this.#of.stream;
  }

  /** At most as many as the scan has counted: 64. */
  get tools(): number {
    const { said } = this.#of;
    return said === undefined ? 0 : (memberNamed(said.body, said.members, 'tools')?.ends.length ?? 0);
  }

  get images(): boolean {
    const { said } = this.#of;
    if (said === undefined) return false;
    const { body, members } = said;
    // Most requests do not even have the word; that of a long one may stand in what is said.
    if (body.length <= shortBytes && !body.includes(hint)) return false;
    for (const name of saying) {
      const member = memberNamed(body, members, name);
      if (member === undefined) continue;
      if (images.some((image) => standsIn(body, member, image))) return true;
    }
    return false;
  }

  get tokens(): number {
    const { said } = this.#of;
    this.#tokens ??= said === undefined ? 0 : estimateInput(said.body, said.members);
    return this.#tokens;
  }

  get hour(): number {
    return this.#of.localTime.at(this.#of.startedAtMs).hour;
  }

  get weekday(): Weekday {
    return this.#of.localTime.at(this.#of.startedAtMs).weekday;
  }

  /** The first one of this name. */
  header(name: string): string {
    const { rawHeaders } = this.#of;
    for (let index = 0; index + 1 < rawHeaders.length; index += 2) {
      const given = rawHeaders[index] as string;
      if (given.length === name.length && isNamed(given, name)) return rawHeaders[index + 1] as string;
    }
    return '';
  }
}
