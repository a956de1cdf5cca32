// The line of a record and its bodies → its line in the journal. Bodies are JSON texts already: they are put into the line as they are, and not parsed.
import { lengthOf, longestLineBytes, type RecordLine } from '../../store/records/record-line.ts';
import type { WholeBodies } from '../capture/body-capture.ts';
import type { WrittenBody } from '../capture/written-body.ts';
import { writeBody } from '../capture/written-body.ts';
import { knownSecrets } from './known-secrets.ts';
import { lineOfWholeBodies } from './line-of-whole-bodies.ts';
import type { RecordedTrip } from './record-of-trip.ts';

interface WrittenBodies {
  readonly request: WrittenBody;
  readonly answer: WrittenBody;
}

const nothing: WrittenBody = { json: undefined, isTooBig: false };
/** What a character of JavaScript takes in UTF-8. Bytes. */
const mostOfLetter = 3;

/** `line`: of a record that has `data`. `nowMs`: Unix milliseconds. */
export function lineWithBodies(line: string | Buffer, trip: RecordedTrip, nowMs: number): RecordLine {
  const secrets = knownSecrets(trip);
  const bodies = wholeBodiesOf(trip);
  const quick = bodies && lineOfWholeBodies(line, bodies, secrets);
  return quick !== undefined && lengthOf(quick) < longestLineBytes
    ? quick
    : lineWithWritten(line.toString(), bodiesOf(trip, secrets, nowMs));
}

/** Undefined: they are not there as they came, or not both of them. */
function wholeBodiesOf({ call, capture, exchange }: RecordedTrip): WholeBodies | undefined {
  return call?.members === undefined || exchange.told !== undefined ? undefined : capture?.wholeBodies();
}

function lineWithWritten(line: string, { request, answer }: WrittenBodies): string {
  const members = membersOf('request_body', request) + membersOf('response_body', answer);
  if (members === '') return line;
  // `data` is the last member of a record, and never empty.
  const open = line.slice(0, -2);
  const whole = `${open}${members}}}`;
  if (whole.length * mostOfLetter < longestLineBytes || Buffer.byteLength(whole) < longestLineBytes) return whole;
  const leftOut: WrittenBody = { json: undefined, isTooBig: true };
  return `${open}${membersOf('request_body', leftOut)}${membersOf('response_body', leftOut)}}}`;
}

function membersOf(name: string, { json, isTooBig }: WrittenBody): string {
  const body = json === undefined ? '' : `,"${name}":${json}`;
  return isTooBig ? `${body},"${name}_too_big_to_handle":true` : body;
}

function bodiesOf(trip: RecordedTrip, secrets: readonly string[], nowMs: number): WrittenBodies {
  const { call, capture, exchange, snapshot } = trip;
  const facts = { secrets, model: call?.model ?? '', nowMs, isObject: call?.members !== undefined };
  const request = capture?.request(facts) ?? nothing;
  if (exchange.told === undefined) return { request, answer: capture?.answer(facts) ?? nothing };
  const bytes = Buffer.from(exchange.told.body);
  const answer = writeBody({ bytes, isCut: false, mostBytes: snapshot.audit.bodyLimitBytes, secrets });
  return { request, answer };
}
