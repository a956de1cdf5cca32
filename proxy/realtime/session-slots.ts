// How many sessions each key and each user path has open: beyond `server.realtime.max_sessions` a further one is refused.
import { foldCase } from '../../domain/selector.ts';
import { refusal } from '../errors.ts';
import type { Principal } from '../stages/authenticate.ts';

export class SessionSlots {
  readonly #open = new Map<string, number>();

  /**
   * Takes one for a session of this caller; gives what gives it back, once. Throws 429 `too_many_sessions` when its key, or its user path,
   * has `most` already.
   */
  take({ keyId, userPath }: Pick<Principal, 'keyId' | 'userPath'>, most: number): () => void {
    const holders: string[] = [];
    if (keyId !== undefined) holders.push(`key ${keyId}`);
    // Keys without a path have nothing in common.
    if (keyId === undefined || userPath !== '/') holders.push(`user path ${foldCase(userPath)}`);
    const full = holders.find((holder) => (this.#open.get(holder) ?? 0) >= most);
    if (full !== undefined) {
      throw refusal('too_many_sessions', { fill: { holder: full, most }, headers: { 'retry-after': '1' } });
    }
    for (const holder of holders) this.#add(holder, 1);
    return () => {
      for (const holder of holders.splice(0)) this.#add(holder, -1);
    };
  }

  #add(holder: string, change: number): void {
    const open = (this.#open.get(holder) ?? 0) + change;
    if (open === 0) this.#open.delete(holder);
    else this.#open.set(holder, open);
  }
}
