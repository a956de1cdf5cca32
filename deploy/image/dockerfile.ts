// Reads a Dockerfile as far as ours goes: stages of instructions, and what the last stage says of a container.

export interface Instruction {
  readonly name: string;
  /** What follows the name, its continued lines joined. */
  readonly text: string;
}

/** What a container of the image is started with. */
export interface ImageSettings {
  readonly command: readonly string[];
  readonly healthCheck: readonly string[];
  readonly user: { readonly uid: number; readonly gid: number };
  readonly environment: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly stopSignal: NodeJS.Signals;
}

/** The stages in their order; each begins with its FROM. */
export function stagesOf(dockerfile: string): Instruction[][] {
  const lines = dockerfile
    .replaceAll(/^#.*\n/gm, '')
    .replaceAll('\\\n', ' ')
    .split('\n');
  const stages: Instruction[][] = [];
  for (const line of lines.filter((each) => each.trim() !== '')) {
    const [, name = '', text = ''] = /^(\S+)\s+(.*)$/.exec(line) ?? [];
    if (name === 'FROM') stages.push([]);
    stages.at(-1)?.push({ name, text });
  }
  return stages;
}

/** Throws for an instruction that is missing, or in another form than ours. */
export function settingsOf(stage: readonly Instruction[]): ImageSettings {
  const last = (name: string): string => {
    const found = stage.findLast((each) => each.name === name)?.text;
    if (found === undefined) throw new Error(`the Dockerfile has no ${name}`);
    return found;
  };
  const list = (text: string): string[] => JSON.parse(text.slice(text.indexOf('['))) as string[];
  if (list(last('ENTRYPOINT')).length > 0) throw new Error('an ENTRYPOINT is not expected: CMD is all of the command');
  const [, uid, gid] = /^(\d+):(\d+)$/.exec(last('USER')) ?? [];
  if (uid === undefined) throw new Error('USER must be numbers, as Kubernetes wants them: 1000:1000');
  const environment = stage
    .filter(({ name }) => name === 'ENV')
    .flatMap(({ text }) => text.trim().split(/\s+/))
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  return {
    command: list(last('CMD')),
    healthCheck: list(last('HEALTHCHECK')),
    user: { uid: Number(uid), gid: Number(gid) },
    environment: Object.fromEntries(environment),
    folder: last('WORKDIR'),
    stopSignal: last('STOPSIGNAL') as NodeJS.Signals,
  };
}
