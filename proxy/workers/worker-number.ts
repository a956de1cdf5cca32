// Which worker a process is: its parent says so on the command line, where `ps` shows it.
const argument = /^--worker=([1-9][0-9]{0,2})$/;

export function workerArgument(number: number): string {
  return `--worker=${number}`;
}

/** Undefined: it is no worker. `args`: the command line. */
export function workerNumber(args: readonly string[]): number | undefined {
  const found = args.map((arg) => argument.exec(arg)?.[1]).find((number) => number !== undefined);
  return found === undefined ? undefined : Number(found);
}
