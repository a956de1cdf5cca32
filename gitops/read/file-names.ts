// Which files of a configuration directory are part of the configuration, and which stand beside it: tests of it, and policies about it.

/** `test`: cases that the configuration must decide as they say. `policy`: conditions that it must fulfil. */
export type BesideKind = 'test' | 'policy';

const endings: Readonly<Record<string, BesideKind>> = { test: 'test', cel: 'policy' };

/** Undefined: a file of this name does not stand beside the configuration. */
export function kindBeside(name: string): BesideKind | undefined {
  const ending = name.startsWith('.') ? undefined : /\.(test|cel)\.ya?ml$/.exec(name)?.[1];
  return ending === undefined ? undefined : endings[ending];
}

/** Whether a file of this name is part of a configuration. */
export function isYamlName(name: string): boolean {
  return /\.ya?ml$/.test(name) && !name.startsWith('.') && kindBeside(name) === undefined;
}
