// A start that cannot succeed: what is wrong and what to do, one line each, and exit status 1.

/** Writes one line per problem to stderr and ends the process. `plane`: `proxy` or `control plane`. */
export function refuseStart(plane: string, problems: readonly string[]): never {
  process.stderr.write(problems.map((problem) => `${plane} cannot start: ${problem}\n`).join(''));
  process.exit(1);
}

/** What a person should do about a failed listen; the variables are `<prefix>_HOST` and `<prefix>_PORT`. */
export function explainListen(
  error: NodeJS.ErrnoException,
  { host, port }: { readonly host: string; readonly port: number },
  prefix: string,
): string {
  if (error.code === 'EADDRINUSE') return `port ${port} on ${host} is in use; set ${prefix}_PORT to a free port`;
  if (error.code === 'EACCES') return `port ${port} on ${host} is not allowed; set ${prefix}_PORT above 1023`;
  return `cannot listen on ${host}: ${error.message}; check ${prefix}_HOST`;
}
