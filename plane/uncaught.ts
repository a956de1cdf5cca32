// Ends the process after an uncaught error, because its state may be wrong: logs the error, saves, exits. A supervisor restarts it.

/** Maximum time for saving. Milliseconds. */
const saveMs = 800;

/**
 * From now on an uncaught error is logged, `save` is called, and the process ends with status 1. `save` is called twice: a save that was
 * already running does not hold the last changes.
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
      // The process ends in any case; the error that ends it is logged already.
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
