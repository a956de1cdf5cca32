// Texts that a server does not take, as it takes them: what it allows of each, and a digest that tells them apart.
import { hash } from 'node:crypto';
import type { TextForm } from '../dialects/tools/call-forms.ts';

/** Hexadecimal digits that tell changed texts apart. */
const digestLength = 8;

/** The texts of one request that have to be of a form. */
export class Fitted {
  hasChanged = false;
  readonly #form: TextForm;
  readonly #fit = new Map<string, string>();
  readonly #taken = new Set<string>();
  readonly #odd: string[] = [];

  constructor(form: TextForm) {
    this.#form = form;
  }

  /** `isOdd`: it is changed in any case. */
  add(text: string, isOdd: boolean = false): void {
    if (this.#fit.has(text)) return;
    this.#fit.set(text, text);
    if (!isOdd && isOfForm(text, this.#form)) this.#taken.add(text);
    else {
      this.#odd.push(text);
      this.hasChanged = true;
    }
  }

  /** As the target is told; a text that was not added stays. */
  of(text: string): string {
    this.#settle();
    return this.#fit.get(text) ?? text;
  }

  /** The texts that were changed, by what they have become. */
  own(): ReadonlyMap<string, string> {
    this.#settle();
    return new Map([...this.#fit].flatMap(([text, fit]) => (text === fit ? [] : [[fit, text]])));
  }

  /** Behind all that fit, so that none of those is taken. */
  #settle(): void {
    const form = this.#form;
    for (const text of this.#odd.splice(0)) {
      let fit = formed(text, form, text);
      for (let again = 1; this.#taken.has(fit); again += 1) fit = formed(text, form, `${text} ${again}`);
      this.#taken.add(fit);
      this.#fit.set(text, fit);
    }
  }
}

/** Whether a text has the form already, so that it stays unchanged. */
export function isOfForm(text: string, { others, longest, isExact = false, beginning }: TextForm): boolean {
  const hasLength = isExact ? text.length === longest : text.length <= longest;
  return text !== '' && hasLength && text.search(others) === -1 && beginning?.test(text) !== false;
}

/** As much of the text as the form allows, and a digest of `whole`. */
function formed(text: string, { others, longest, isExact = false, beginning }: TextForm, whole: string): string {
  const digest = hash('sha256', whole);
  if (isExact) return digest.slice(0, longest);
  const taken = text.slice(0, longest).replace(others, '_');
  const begun = beginning === undefined || beginning.test(taken) ? taken : `_${taken}`;
  return `${begun.slice(0, longest - digestLength - 1)}_${digest.slice(0, digestLength)}`;
}
