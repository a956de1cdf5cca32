// An error nobody caught: said, saved, over. Going on could do anything; a supervisor starts a clean process.

/** Longest time for saving. Milliseconds. */
const saveMs = 800;

/**
 * From now on such an error is logged, `save` gets a moment, and the process ends with status 1. `save` is called twice, because what
 * was being saved already knows nothing of the last changes.
 */
export function endOnUncaught(
  log: { fatal(fields: object, text: string): void },
  save: () => Promise<unknown> | undefined,
): void {
  let isEnding = false;
  const trySave = async (): Promise<void> => {
    try {
      await save();
    } catch {
      // There is nobody left to tell, and the process ends either way.
    }
  };
  process.on('uncaughtException', (error) => {
    log.fatal({ err: error }, 'uncaught: the process ends');
    if (isEnding) return;
    isEnding = true;
    setTimeout(() => process.exit(1), saveMs);
    void trySave()
      .then(trySave)
      .then(() => process.exit(1));
  });
}
