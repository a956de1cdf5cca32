// The files for running behind HAProxy and nginx: they agree with the gateway's own settings. No such program is needed here.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'tap';
import { defaultConfig } from '../../gitops/read/validate.ts';
import { durationMs } from '../../schemas/formats/units.ts';

const read = (name: string): string => readFileSync(join(import.meta.dirname, '../../deploy', name), 'utf8');
const seconds = (text: string, pattern: RegExp): number => Number(pattern.exec(text)?.[1]);

await test('proxies in front let go of idle connections first, and wait for as long as the gateway does', async (t) => {
  const { server } = defaultConfig();
  const keepAlive = durationMs(server.keep_alive) / 1_000;
  // The default of a provider's timeouts.first_byte.
  const firstByte = 600;
  const [haproxy, nginx] = [read('haproxy.cfg'), read('nginx.conf')];
  for (const [text, idle, silence] of [
    [haproxy, /timeout http-keep-alive (\d+)s/, /timeout server (\d+)s/],
    [nginx, /keepalive_timeout (\d+)s/, /proxy_read_timeout (\d+)s/],
  ] as const) {
    t.ok(seconds(text, idle) < keepAlive);
    t.ok(seconds(text, silence) > firstByte);
  }
  t.match(haproxy, /^ {4}option http-no-delay$/m);
  for (const line of ['proxy_buffering off;', 'proxy_http_version 1.1;', 'proxy_set_header Connection "";'])
    t.ok(nginx.includes(line), line);
  t.equal(`${seconds(nginx, /client_max_body_size (\d+)m/)}MiB`, server.upload_limit);
});

await test('proxies in front keep /admin and /metrics from clients, however they are written', async (t) => {
  const patterns = [
    /location ~\* (\S+) \{\n\s+return 404;/.exec(read('nginx.conf'))?.[1],
    / deny_status 404 if \{ path,url_dec -m reg -i (\S+) \}/.exec(read('haproxy.cfg'))?.[1],
  ];
  for (const pattern of patterns) {
    const denied = new RegExp(pattern ?? '$^', 'i');
    for (const path of [
      '/admin',
      '/admin/',
      '/admin/rate-limits',
      '/ADMIN/session',
      '//admin',
      '/metrics',
      '/Metrics/',
    ])
      t.ok(denied.test(path), `${pattern} ${path}`);
    for (const path of ['/', '/v1/chat/completions', '/p/openai/admin', '/administrators', '/v1/files/metrics'])
      t.notOk(denied.test(path), `${pattern} ${path}`);
  }
});
