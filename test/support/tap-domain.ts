// Which test an error belongs to that nothing caught: stands in for the package async-hook-domain in the processes of test/together.ts.
// The package follows every promise of the process to the test that made it, which costs a third of the processor time of a test.
// The files of a process run in turn, so the test that began last is the one, or one of the same file.

type Handler = (error: unknown, event: string) => void;

/** Those that have not ended, in the order of their beginning. */
const open = new Set<Domain>();

/** What tap makes of the package: one for each test. */
export class Domain {
  readonly report: Handler;

  constructor(report: Handler) {
    this.report = report;
    open.add(this);
  }

  destroy(): void {
    open.delete(this);
  }
}

// Without a test node ends the process, as ever.
for (const event of ['uncaughtException', 'unhandledRejection'] as const) {
  process.on(event, (error: unknown) => {
    // A test that listens, too, handles it.
    if (process.listenerCount(event) > 1) return;
    const last = [...open].at(-1);
    if (last === undefined) throw error;
    last.report(error, event);
  });
}
