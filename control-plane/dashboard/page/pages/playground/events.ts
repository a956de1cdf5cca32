// The events of an answer that comes as a stream (server-sent events), as they come in.

/** The data of each event. */
export async function* eventsOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const { value, done } = await reader.read();
    const parts = `${rest}${value ?? ''}`.replaceAll('\r\n', '\n').split('\n\n');
    rest = done ? '' : (parts.pop() ?? '');
    for (const part of parts) {
      const data = part
        .split('\n')
        .flatMap((line) => (line.startsWith('data:') ? [line.slice(5).trimStart()] : []))
        .join('\n');
      if (data !== '') yield data;
    }
    if (done) return;
  }
}
