// The text that is printed after the start of the fleet: addresses, and three commands to paste.

export interface RunningProcess {
  readonly url: string;
  readonly pid: number | undefined;
}

export interface RunningFleet {
  readonly proxies: readonly RunningProcess[];
  readonly controlPlane: RunningProcess;
  readonly redis: string;
  readonly masterKey: string;
  readonly keyOrigin: string;
}

/** The text, plain, ending in a newline. Each command is a separate paragraph. */
export function composeFleetBanner({ proxies, controlPlane, redis, masterKey, keyOrigin }: RunningFleet): string {
  const proxyUrls = proxies.map(({ url }) => url);
  const [first = ''] = proxyUrls;
  const authorization = `-H ${quote(`Authorization: Bearer ${masterKey}`)}`;
  const json = `-H ${quote('Content-Type: application/json')}`;
  const rule = {
    user_path: '/team',
    limit_key: { period: 'minute' },
    max_requests: 2,
    reason: 'trying the fleet',
  };
  const question = { model: 'chat', messages: [{ role: 'user', content: 'Hello' }] };
  return [
    '',
    'The fleet is up.',
    '',
    ...proxies.map((proxy, index) => `  proxy-${index + 1}        ${place(proxy)}`),
    `  Control plane  ${place(controlPlane)}`,
    `  Redis          ${redis}`,
    `  Master key     ${masterKey} (${keyOrigin})`,
    '',
    'Override a limit, at any proxy:',
    '',
    `curl -s -X PUT ${first}/admin/rate-limits \\\n  ${authorization} \\\n  ${json} \\\n  -d ${quote(JSON.stringify(rule))}`,
    '',
    'See that every proxy enforces it, within a second: two requests are admitted, the third is refused.',
    '',
    [
      `for proxy in ${proxyUrls.join(' ')}; do`,
      '  for i in 1 2 3; do',
      `    curl -s -o /dev/null -w "$proxy  %{http_code}\\n" $proxy/v1/chat/completions \\`,
      `      ${authorization} \\`,
      `      -H ${quote('X-Gateway-User-Path: /team/app')} ${json} \\`,
      `      -d ${quote(JSON.stringify(question))}`,
      '  done',
      'done',
    ].join('\n'),
    '',
    'See what each proxy enforces:',
    '',
    `curl -s ${first}/admin/status \\\n  ${authorization}`,
    '',
    `Take the control plane away: kill ${controlPlane.pid}. The proxies continue. Ctrl-C stops everything.`,
    '',
    '',
  ].join('\n');
}

function place({ url, pid }: RunningProcess): string {
  return `${url} (process ${pid})`;
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
