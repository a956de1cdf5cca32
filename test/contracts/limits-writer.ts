// Another process at the same shared limits: asks for one request after the other until nothing is free, and prints how many it was given.
import type { LimitLine } from '../../store/state/limits/limit-store.ts';
import { openStateStore, type StateStoreOptions } from '../../store/state/open.ts';
import { attachMessage, exchangeMessage, limitGroup, limitItem } from '../support/limit-messages.ts';

interface Task {
  readonly options: StateStoreOptions;
  readonly instance: string;
  readonly key: string;
  readonly cap: number;
}

const { options, instance, key, cap }: Task = JSON.parse(process.argv[2] ?? '') as Task;
const store = openStateStore(options);
process.on('SIGTERM', () => process.exit(0));

const say = (line: object): void => console.log(JSON.stringify(line));

const line = await new Promise<LimitLine>((ready, lost) => {
  store.limits.connect({ ready, lost, told: () => undefined });
});
const { session, now } = await line.attach(attachMessage(instance, { server: line.server }));
const slice = Math.floor(now / 1_000);
let given = 0;
let unreported = 0;
for (let sequence = 1; ; sequence += 1) {
  const item = limitItem(key, { cap, uses: unreported === 0 ? [] : [[slice, unreported]] });
  const answer = await line.exchange(
    exchangeMessage(session, { sequence, items: [item], groups: [limitGroup(1, [0])] }),
  );
  if (answer.status !== 'done') throw new Error(answer.status);
  unreported = answer.admitted[0] ?? 0;
  given += unreported;
  if (sequence === 1) say({ msg: 'ready' });
  if (unreported === 0 && (answer.answers[0]?.free ?? 0) <= 0) break;
}
await store.close();
say({ msg: 'done', given });
