// The state that the writers of a request share: the target, and the list of losses.
import { fieldName } from '../field-names.ts';
import type { ClientDialectName } from '../names.ts';
import type { Losses } from '../translation.ts';
import type { ModelTraits } from './model-traits.ts';

export class Writing {
  readonly traits: ModelTraits;
  readonly losses: Losses;
  readonly #dialect: ClientDialectName;
  readonly #documents = new Set<string>();

  constructor(traits: ModelTraits, losses: Losses, dialect: ClientDialectName) {
    this.traits = traits;
    this.losses = losses;
    this.#dialect = dialect;
  }

  /** The name of the member in the client's dialect. */
  nameOf(member: Parameters<typeof fieldName>[0]): string {
    return fieldName(member, this.#dialect);
  }

  hint(member: Parameters<typeof fieldName>[0]): void {
    this.losses.hint(this.nameOf(member));
  }

  meaning(member: Parameters<typeof fieldName>[0], because: string, place?: string): void {
    this.losses.meaning(this.nameOf(member), because, place);
  }

  /** A name that a document may have, and that no other document of the request has. */
  documentName(wanted: string | undefined): string {
    const plain = (wanted ?? '').replace(/\.[a-z]{2,4}$/i, '').replace(/[^a-zA-Z0-9\s\-()[\]]+/g, ' ');
    const name = plain.replace(/\s+/g, ' ').trim().slice(0, 180) || 'Document';
    for (let copy = 1; ; copy += 1) {
      const numbered = copy === 1 ? name : `${name} (${copy})`;
      if (!this.#documents.has(numbered)) {
        this.#documents.add(numbered);
        return numbered;
      }
    }
  }
}
