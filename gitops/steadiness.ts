// Says when changed content may get its verdict: half of a save must neither be put in force nor be reported.

export interface SettlingSettings {
  /** Usable content is put in force once two looks at least this far apart have found it. */
  steadyMs: number;
  /** What is broken or keeps changing gets its verdict after this long, as it is then: it may stay so for ever. */
  patienceMs: number;
}

export interface Settling {
  /** A look has found this content, which has had no verdict yet. */
  found: (hash: string) => void;
  /** It has been loaded, and has to wait. */
  wait: () => void;
  /** The content that was found at least `steadyMs` ago, and nothing else since; empty when there is none. */
  steady: () => string;
  /** Everything has its verdict. */
  end: () => void;
}

/** Calls `look` when content should have become steady, and with `atOnce` when patience has come to its end. */
export function createSettling({ steadyMs, patienceMs }: SettlingSettings, look: (atOnce: boolean) => void): Settling {
  let seen = '';
  let steady = '';
  let ripening: NodeJS.Timeout | undefined;
  let patience: NodeJS.Timeout | undefined;
  return { found, wait, steady: () => steady, end };

  function found(hash: string): void {
    if (hash === seen) return;
    clearTimeout(ripening);
    seen = hash;
    steady = '';
    ripening = setTimeout(() => {
      steady = hash;
      look(false);
    }, steadyMs);
  }

  function wait(): void {
    patience ??= setTimeout(look, patienceMs, true);
  }

  function end(): void {
    clearTimeout(ripening);
    clearTimeout(patience);
    patience = undefined;
    seen = '';
    steady = '';
  }
}
