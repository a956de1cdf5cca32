// Many who ask the same at once need not all ask: they get one answer, though never one that was begun before they came.

/**
 * `ask`, at most once at a time. Whoever comes while an answer is under way gets the next one, with all others who do: the one under
 * way may not know yet what they have just written.
 */
export function coalesce<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let running: Promise<Answer> | undefined;
  let next: Promise<Answer> | undefined;

  function begin(): Promise<Answer> {
    next = undefined;
    const asked = ask().finally(() => {
      if (running === asked) running = undefined;
    });
    running = asked;
    return asked;
  }
  return () => {
    if (running === undefined) return begin();
    next ??= running.then(begin, begin);
    return next;
  };
}
