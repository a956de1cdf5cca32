// The lines of the log as a collector gets them: the same members on each, and a problem's place beside its sentence.
import { test } from 'tap';
import { identityOf } from '../../plane/identity.ts';
import { createLog } from '../../plane/log.ts';
import { logConfigEvent } from '../../plane/log-events.ts';

await test('each line has level, time and identity; each problem of the config has its place as members', async (t) => {
  const lines: string[] = [];
  const log = createLog(identityOf('proxy', '1.2.3', 'a:8080'), 'info', { write: (line) => void lines.push(line) });
  const place = { file: 'config/aliases.yaml', line: 3, column: 13, path: 'aliases[0].target' };
  const whole = { file: 'config/b.yaml', line: 0, column: 0, path: '', message: 'cannot be read' };
  logConfigEvent(log, { kind: 'rejected', revision: 'r1', problems: [{ ...place, message: 'is wrong' }, whole] });
  log.debug('is not asked for');
  const parsed = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
  const identity = { service: 'model-gateway', plane: 'proxy', instance: 'a:8080', version: '1.2.3' };
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
  for (const line of parsed) t.match(line, { level: 'error', time: isTime, ...identity });
  const ofEach = new Set(['level', 'time', ...Object.keys(identity)]);
  t.same(
    parsed.map((line) => Object.fromEntries(Object.entries(line).filter(([name]) => !ofEach.has(name)))),
    [
      { ...place, msg: 'config/aliases.yaml:3:13  aliases[0].target  is wrong' },
      { file: 'config/b.yaml', msg: 'config/b.yaml  cannot be read' },
      { config_revision: 'r1', msg: 'config rejected' },
    ],
  );
});
