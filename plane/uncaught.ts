// Ends the process after an uncaught error, because its state may be wrong: logs the error, saves, exits. A supervisor restarts it.

/** Maximum time for saving. Milliseconds. */
const saveMs = 800;

/**
 * From now on an uncaught error is logged, `saves` are called, side by side, and the process ends with status 1. Each is called twice: a save
 * that was already running does not hold the last changes.
 */
export function endOnUncaught(
  log: { fatal(fields: object, text: string): void },
  ...saves: readonly (() => Promise<unknown> | undefined)[]
): void {
  let isEnding = false;
  const trySave = async (save: () => Promise<unknown> | undefined): Promise<void> => {
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
    const saving = saves.map((save) => trySave(save).then(() => trySave(save)));
    void Promise.all(saving).then(() => process.exit(1));
  });
}
