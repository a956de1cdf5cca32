// Which free connections of an origin are kept, and which are closed, when its name leads to other addresses.
import { test } from 'tap';
import { Connections } from '../../proxy/upstream/connections.ts';

/** A connection that notes that it was closed. */
class Connection {
  isClosed = false;
  close(): void {
    this.isClosed = true;
  }
}

/** Two connections with a call each; the name has led to the address of the second alone often enough. */
function afterMove(): {
  readonly connections: Connections<never>;
  readonly old: Connection;
  readonly current: Connection;
} {
  const connections = new Connections<never>();
  const [old, current] = [new Connection(), new Connection()];
  connections.connected(old as never, '10.0.0.1');
  connections.connected(current as never, '10.0.0.2');
  for (let answer = 0; answer < 4; answer += 1) connections.compare(new Set(['10.0.0.2']));
  return { connections, old, current };
}

await test('a connection to a former address ends with its call', async (t) => {
  const { connections, old } = afterMove();
  t.notOk(old.isClosed);
  connections.push(old as never);
  t.ok(old.isClosed);
  t.equal(connections.length, 0);
});

await test('a connection to a present address is kept, while another one is to be closed', async (t) => {
  const { connections, current } = afterMove();
  connections.push(current as never);
  t.notOk(current.isClosed);
  t.equal(connections.pop(), current);
});
