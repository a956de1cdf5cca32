// Decides when changed content is steady: half of a save must not be applied and not be rejected.

export interface SteadinessSettings {
  /** Usable content is applied once two refreshes at least this far apart have found it. Milliseconds. */
  steadyMs: number;
  /** Content that is broken or keeps changing is applied or rejected after this time. Milliseconds. */
  patienceMs: number;
}

export interface Steadiness {
  /** A refresh has found this content, which is neither applied nor rejected. */
  found: (hash: string) => void;
  /** The content was loaded and must wait. */
  wait: () => void;
  /** The hash of content that has been the same for at least `steadyMs`; empty when there is none. */
  steady: () => string;
  /** No content waits any more. */
  end: () => void;
}

/** Calls `refresh` after `steadyMs` with the same content, and with `atOnce` after `patienceMs`. */
export function createSteadiness(
  { steadyMs, patienceMs }: SteadinessSettings,
  refresh: (atOnce: boolean) => void,
): Steadiness {
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
      refresh(false);
    }, steadyMs);
  }

  function wait(): void {
    patience ??= setTimeout(refresh, patienceMs, true);
  }

  function end(): void {
    clearTimeout(ripening);
    clearTimeout(patience);
    patience = undefined;
    seen = '';
    steady = '';
  }
}
