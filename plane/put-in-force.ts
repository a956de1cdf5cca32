// Puts another configuration in force in all parts of a process or in none: every part prepares before the first one commits.

/** Puts in force what was prepared. Must not throw. */
export type Commit = () => void;

/** A part of a process that keeps to what is in force. */
export interface PartInForce<Next> {
  /** Names the part in the error of `putInForce`. */
  readonly name: string;
  /** Works out what `next` needs and changes nothing. Throws when `next` cannot be in force; a commit may never be called. */
  readonly prepare: (next: Next) => Commit;
}

/** Puts `next` in force in every part, in their order. Throws an error that names the part whose `prepare` threw; then nothing has changed. */
export function putInForce<Next>(parts: readonly PartInForce<Next>[], next: Next): void {
  const commits = parts.map(({ name, prepare }) => {
    try {
      return prepare(next);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(`${name}: ${reason}`, { cause: error });
    }
  });
  for (const commit of commits) commit();
}
