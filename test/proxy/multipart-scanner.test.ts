// Forms as they come: cut anywhere, the model is found at its place, and what two readers could understand differently is refused.
import { test } from 'tap';
import { MultipartScanner } from '../../proxy/opaque/forms/multipart-scanner.ts';
import { boundaryOf } from '../../proxy/opaque/forms/part-head.ts';

const field = (name: string, value: string, more = '') =>
  `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}\r\n`;
const file = field('file', '\r\n--\r\n-B\r\n--A\0\xff', '; filename="a.wav"\r\nContent-Type: audio/wav');
const model = field('model', 'whisper-1');
const end = '--B--\r\n';

/** The names of the fields, and the model with what stands at its place. */
function scan(form: string, pieces: readonly number[] = []): unknown {
  const bytes = Buffer.from(form, 'latin1');
  const names: string[] = [];
  const scanner = new MultipartScanner('B', (name) => names.push(name));
  const cuts = [0, ...pieces, bytes.length];
  for (const [index, cut] of cuts.entries()) if (index > 0) scanner.push(bytes.subarray(cuts[index - 1], cut));
  scanner.end();
  const found = scanner.model;
  return [...names, found?.model, found && bytes.toString('latin1', found.start, found.end)];
}

function refused(form: string): string {
  try {
    return `accepted: ${String(scan(form))}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

await test('a form is understood wherever it is cut', (t) => {
  for (const form of [
    file + model + end,
    `\r\n${model}${file}--B--`,
    `to be ignored\r\n${model}${field('a', '')}${end}`,
  ]) {
    const whole = scan(form);
    t.match(String(whole), 'whisper-1,whisper-1');
    for (let cut = 1; cut < form.length; cut += 1) t.strictSame(scan(form, [cut]), whole, `at ${cut}`);
    const each = Array.from({ length: form.length - 1 }, (_, index) => index + 1);
    t.strictSame(scan(form, each), whole, 'byte by byte');
  }
  t.end();
});

await test('a form may have no model', (t) => {
  t.strictSame(scan(file + end), ['file', undefined, undefined]);
  t.end();
});

await test('names are read as clients write them', (t) => {
  const heads = [
    'Content-Disposition: form-data; name=model',
    'content-disposition:form-data;name="model";',
    'Content-Type: text/plain; charset=utf-8\r\nContent-Disposition: form-data; name="model"',
  ];
  for (const head of heads) t.strictSame(scan(`--B\r\n${head}\r\n\r\nm\r\n${end}`), ['m', 'm'], head);
  const named = '; filename="a b; c=\xe9.wav"; filename*=UTF-8\'\'a.wav';
  t.strictSame(scan(field('file', '', named) + model + end), ['file', 'whisper-1', 'whisper-1']);
  t.end();
});

await test('what is malformed or ambiguous is refused', (t) => {
  const malformed: Record<string, string> = {
    'nothing at all': '',
    'no last boundary': model,
    'another boundary': model.replaceAll('--B', '--C') + end.replace('B', 'C'),
    'a bare line feed before a boundary': model.replace(/\r\n$/, '\n') + end,
    'a boundary in the margin behind a bare line feed': `x\n${model}${end}`,
    'a boundary right behind a head': `--B\r\nContent-Disposition: form-data; name="a"\r\n\r\n${model}${end}`,
    'a boundary within a head': `--B\r\nContent-Disposition: form-data; name="a"\r\n${model}${end}`,
    'a longer boundary': model + field('a', '\r\n--Bx') + end,
    'a part without a head': `--B\r\n\r\n\r\n${model}${end}`,
    'no disposition': `--B\r\nContent-Type: text/plain\r\n\r\nm\r\n${end}`,
    'two dispositions': model.replace('\r\n\r\n', '\r\nContent-Disposition: form-data; name="a"\r\n\r\n') + end,
    'two names': field('a', 'm', '; name="model"') + end,
    'an extended name': field('a', 'm', "; name*=utf-8''model") + end,
    'a quote behind a backslash': field('a', 'm', '; filename="\\"; name="model"') + end,
    'a folded line': model.replace('; name', ';\r\n name') + end,
    'an encoding': model.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: base64\r\n\r\n') + end,
    'something behind the end': `${model}${end}${model}`,
    'JSON in the margin': ` {"model":"m"}\r\n${model}${end}`,
    'a long margin': `${'x'.repeat(5_000)}\r\n${model}${end}`,
    'an endless head': `--B\r\nX-A: ${'a'.repeat(17_000)}`,
    '10,000 parts': field('a', '').repeat(10_000) + model + end,
  };
  for (const [what, form] of Object.entries(malformed)) t.equal(refused(form), 'malformed_multipart', what);
  const others: Record<string, string> = {
    [field('model', '') + end]: 'invalid_model',
    [field('model', 'm', '; filename="m"') + end]: 'invalid_model',
    [field('Model', 'm') + end]: 'invalid_model',
    [field('model', 'm'.repeat(5_000)) + end]: 'invalid_model',
    [field('model', 'm\r\nn') + end]: 'invalid_model',
    [field('model', '\xff') + end]: 'invalid_model',
    [model + field('MODEL ', 'n') + end]: 'duplicate_key',
  };
  for (const [form, code] of Object.entries(others)) t.equal(refused(form), code, form.slice(0, 90));
  t.end();
});

await test('the boundary of a content type', (t) => {
  t.equal(boundaryOf('multipart/form-data; boundary=----WebKitFormBoundaryabc'), '----WebKitFormBoundaryabc');
  t.equal(boundaryOf('Multipart/Form-Data; charset=utf-8; boundary="a b"'), 'a b');
  const none = [
    'application/json',
    'multipart/mixed; boundary=a',
    'multipart/form-data',
    'multipart/form-data-x; boundary=a',
  ];
  const wrong = ['boundary=', 'boundary=""', 'boundary=a; boundary=b', `boundary=${'a'.repeat(71)}`, 'boundary="a\n"'];
  for (const type of [undefined, ...none, ...wrong.map((parameter) => `multipart/form-data; ${parameter}`)])
    t.throws(() => boundaryOf(type), { code: 'multipart_expected' }, String(type));
  t.end();
});
