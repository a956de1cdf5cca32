// The files of one listener as a whole: the last content that could be used, and why what they hold now cannot be.
import type { Listener } from '../assemble/assembled.ts';
import { type ListenerFiles, type ListenerMaterial, listenerReader, untimely } from '../read/listener-files.ts';
import type { Problem } from '../read/problem.ts';
import { FollowedSecret } from './followed-secret.ts';
import type { Look } from './held-secret.ts';

const dayMs = 86_400_000;

export class FollowedListener {
  readonly #secret: FollowedSecret;
  readonly #nowMs: () => number;
  /** The member whose file was at fault last. */
  #at = 'certificate_file';
  #warnedAtMs = Number.NEGATIVE_INFINITY;

  /** Nothing is read yet. */
  constructor(files: ListenerFiles, nowMs: () => number) {
    this.#nowMs = nowMs;
    const read = listenerReader(files);
    this.#secret = new FollowedSecret('', undefined, undefined, async () => {
      const reading = await read();
      if ('trouble' in reading) {
        this.#at = reading.at.join('.');
        return { trouble: reading.trouble };
      }
      this.#at = 'certificate_file';
      // A start takes what there is: whoever does not look at the time can use it.
      const late = this.#secret.key === undefined ? undefined : untimely(reading, nowMs());
      return late === undefined ? { key: JSON.stringify(reading) } : { trouble: late };
    });
  }

  /** In force, once it is; undefined: the files were never usable. */
  get material(): ListenerMaterial | undefined {
    const { key } = this.#secret;
    return key === undefined ? undefined : (JSON.parse(key) as ListenerMaterial);
  }

  /** Why the material must not be used at this time, as the end of a sentence; undefined: it may. */
  get untimely(): string | undefined {
    const { material } = this;
    return material === undefined ? undefined : untimely(material, this.#nowMs());
  }

  read(): Promise<void> {
    return this.#secret.read();
  }

  look(): Promise<Look | undefined> {
    return this.#secret.look();
  }

  /** Why the files cannot be used now. `consequence`: the end of the sentence. */
  problem({ places }: Listener, consequence: string): Problem | undefined {
    const { trouble } = this.#secret;
    const place = places[this.#at];
    if (trouble === undefined || place === undefined) return undefined;
    return { ...place, message: `names a file that ${trouble}${consequence}` };
  }

  /** Once a day: the certificate ends soon. */
  ending({ places, warnBeforeMs }: Listener): Problem | undefined {
    const { material } = this;
    const { certificate_file: place } = places;
    const nowMs = this.#nowMs();
    if (material === undefined || place === undefined || nowMs < this.#warnedAtMs + dayMs) return undefined;
    const leftMs = material.notAfterMs - nowMs;
    if (leftMs > warnBeforeMs || leftMs <= 0) return undefined;
    this.#warnedAtMs = nowMs;
    const days = Math.floor(leftMs / dayMs);
    const left = days === 0 ? 'in less than a day' : `in ${days} ${days === 1 ? 'day' : 'days'}`;
    return { ...place, message: `names a file with a certificate that ends ${left}; put a new one there` };
  }
}
