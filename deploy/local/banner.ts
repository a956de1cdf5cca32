// The text that is printed after the start: addresses, the key, and a command to paste.

export interface Running {
  readonly proxyUrl: string;
  readonly controlPlaneUrl: string;
  readonly demoUrl: string;
  readonly configDirectory: string;
  readonly masterKey: string;
  readonly keyOrigin: string;
  /** The model the command asks for; without one no command is printed. */
  readonly model: string | undefined;
}

/** The text of the banner, plain, ending in a newline. */
export function composeBanner(running: Running): string {
  return [
    '',
    'The gateway is up.',
    '',
    `  API            ${running.proxyUrl}/v1`,
    `  Dashboard      ${running.proxyUrl}/admin/dashboard (log in with the master key)`,
    `  Control plane  ${running.controlPlaneUrl}`,
    `  Demo provider  ${running.demoUrl}/v1`,
    `  Config         ${running.configDirectory} (edit a file: it is live within a second)`,
    `  Master key     ${running.masterKey} (${running.keyOrigin})`,
    '',
    ...(running.model === undefined
      ? ['The config lists no chat model yet.']
      : ['Ask it something:', '', composeCurl(running.proxyUrl, running.masterKey, running.model)]),
    '',
    'Ctrl-C stops everything once open streams have finished, a second Ctrl-C at once.',
    '',
    '',
  ].join('\n');
}

/** The model to ask: the alias `chat` of the quickstart, else the first that does not look like an embedding model. */
export function chooseModel(ids: readonly string[]): string | undefined {
  return ids.find((id) => id === 'chat') ?? ids.find((id) => !/embed/i.test(id));
}

function composeCurl(proxyUrl: string, masterKey: string, model: string): string {
  const messages = [{ role: 'user', content: 'Why is the sky blue?' }];
  return [
    `curl -N ${proxyUrl}/v1/chat/completions`,
    `  -H ${quote(`Authorization: Bearer ${masterKey}`)}`,
    `  -H ${quote('Content-Type: application/json')}`,
    `  -d ${quote(JSON.stringify({ model, stream: true, messages }))}`,
  ].join(' \\\n');
}

function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
