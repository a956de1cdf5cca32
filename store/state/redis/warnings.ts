// The settings of a Redis server that can lose rules.

/** A sentence for each setting that does not fit; `settings` as CONFIG GET gives them, as far as they may be read. */
export function redisWarnings(settings: ReadonlyMap<string, string>): string[] {
  const policy = settings.get('maxmemory-policy') ?? 'noeviction';
  const isKept = settings.get('appendonly') !== 'no' || (settings.get('save') ?? '') !== '';
  return [
    ...(policy === 'noeviction'
      ? []
      : [
          `Redis evicts keys when its memory is full (maxmemory-policy ${policy}) and could drop every rule; set it to noeviction`,
        ]),
    ...(isKept
      ? []
      : [
          'Redis keeps nothing on disk (appendonly no, no save points): a restart loses every rule; set appendonly yes',
        ]),
  ];
}
